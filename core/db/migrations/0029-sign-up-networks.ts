import { sql, type Kysely } from 'kysely'

/** The network that an organisation was made from by signing up: newcomers of one network have one share. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table organisation add column signed_up_from text').execute(db)
}
