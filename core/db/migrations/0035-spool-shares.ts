import { sql, type Kysely } from 'kysely'

/** Several processes drain the spool at once, each a share of its own. The version before knows the first share alone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`alter table spool_drain add column share text not null default 'spool.events'`)
    .execute(db)
}
