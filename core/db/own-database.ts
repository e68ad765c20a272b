import { createHmac } from 'node:crypto'

import pg from 'pg'

const OWNER = 'postern'

/** Objects of migrations that somebody else owns. Sequences of columns follow their tables. */
const OF_OTHERS = `
  select format('alter table %s owner to ${OWNER}', oid::regclass) as change
    from pg_class
   where relnamespace = 'public'::regnamespace and relowner <> '${OWNER}'::regrole
     and (relkind in ('r', 'p', 'v', 'm') or (relkind = 'S' and not exists (
           select from pg_depend
            where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i'))))
  union all
  select format('alter routine %s owner to ${OWNER}', oid::regprocedure)
    from pg_proc
   where pronamespace = 'public'::regnamespace and proowner <> '${OWNER}'::regrole
     and not exists (
           select from pg_depend
            where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')`

/**
 * Makes the database of a superuser's URL the property of a role that may do nothing outside of it, with all that is in it.
 * Returns the URL of that role. Safe to run at each start: a start that was killed in between goes on here. The role's
 * password follows from the superuser's and does not tell it.
 */
export async function ownDatabase(superuserUrl: string): Promise<string> {
  const url = new URL(superuserUrl)
  const password = createHmac('sha256', url.password).update(OWNER).digest('base64url')
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [OWNER])
    if (rowCount === 0) await client.query(`create role ${OWNER}`)
    await client.query(
      `alter role ${OWNER} with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls
         password ${pg.escapeLiteral(password)}`,
    )
    const database = pg.escapeIdentifier(url.pathname.slice(1))
    await client.query(`alter database ${database} owner to ${OWNER}`)
    const { rows } = await client.query<{ change: string }>(OF_OTHERS)
    // Each by itself: all at once would need more locks than a server with months of partitions has.
    for (const { change } of rows) await client.query(change)
  } finally {
    await client.end()
  }
  url.username = OWNER
  url.password = password
  return url.href
}
