import { sql, type Kysely } from 'kysely'

/**
 * Destinations and connections that were deleted while deliveries waited for them: these are cancelled step by step,
 * however many there are. Until the version before is gone, what it deletes is cancelled in one statement.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(CHANGES).execute(db)
}

const CHANGES = `
  create table doomed_route (
    id uuid primary key,
    destination_id uuid not null,
    connection_id uuid,
    after_id uuid not null,
    is_last_walk boolean not null default false,
    due_at timestamptz not null
  );
`
