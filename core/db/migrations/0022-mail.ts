import { sql, type Kysely } from 'kysely'

/** The source of a mail, beside the body that was made of it. Stored as it is, so that its length is read without it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table event add column mail bytea').execute(db)
  await sql.raw('alter table event alter column mail set storage external').execute(db)
}
