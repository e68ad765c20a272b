import { sql, type Kysely } from 'kysely'

/** What is wrong with the verifier of a source, kept with the request that was rejected for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table event add column rejection_detail text').execute(db)
}
