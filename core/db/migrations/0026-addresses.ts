import { sql, type Kysely } from 'kysely'

/** Where changes and the last use of keys and agents came from. (dashboard: Audit, Keys, Agents) */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(ADDRESSES).execute(db)
}

/** Null of what was written before, of the command line, and of what Postern does by itself. */
const ADDRESSES = `
  alter table audit add column address text;
  alter table api_key add column last_used_from text;
  alter table agent add column last_used_from text;
`
