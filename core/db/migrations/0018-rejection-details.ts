import { sql, type Kysely } from 'kysely'

/** The fault of a source's verifier, stored with the request that was rejected for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table event add column rejection_detail text').execute(db)
}
