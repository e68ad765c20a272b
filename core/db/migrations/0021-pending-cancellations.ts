import { sql, type Kysely } from 'kysely'

/**
 * The table of deleted destinations and connections gets the name of its work. A view keeps its former name for processes
 * of the version before, which insert, lock, update and delete through it. A later release drops the view.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  alter table doomed_route rename to pending_cancellation;
  alter table pending_cancellation rename constraint doomed_route_pkey to pending_cancellation_pkey;
  create view doomed_route as select * from pending_cancellation;
`
