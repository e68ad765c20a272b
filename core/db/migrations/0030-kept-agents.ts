import { sql, type Kysely } from 'kysely'

/** The highest role of an agent that was kept when its member was removed: its new member may have a higher one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table agent add column role_max text').execute(db)
}
