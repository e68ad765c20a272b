import pg from 'pg'
import { z } from 'zod'

const Column = z.object({ table: z.string(), column: z.string(), serial: z.string().nullable() })

/** Tables that hold rows of their own: no partitions, no bookkeeping of migrations. */
const COLUMNS = `
  select c.relname as table, a.attname as column,
    case when a.attidentity <> '' then pg_get_serial_sequence(c.relname::text, a.attname::text) end as serial
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname not like 'kysely%' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  order by c.relname <> 'organisation', c.relname, a.attnum`

/** Values as PostgreSQL writes them, to be read by PostgreSQL again. */
const AS_TEXT = { getTypeParser: () => (text: unknown) => text }

/**
 * Copies every row into a database of an older schema, as far as that has its table and its columns. Returns how many
 * rows each table got. `afterOrganisations` makes what the others need.
 */
export async function copyRows(
  fromUrl: string,
  toUrl: string,
  afterOrganisations: () => Promise<void>,
): Promise<Map<string, number>> {
  await using stack = new AsyncDisposableStack()
  const open = async (url: string): Promise<pg.Client> => {
    const client = stack.adopt(new pg.Client(url), async (one) => await one.end())
    await client.connect()
    return client
  }
  const [from, to] = [await open(fromUrl), await open(toUrl)]
  // No trigger fires and no reference is checked: the rows are whole as they are.
  await to.query(`set session_replication_role = replica`)
  const known = await columnsOf(from)
  const copied = new Map<string, number>()
  for (const [table, columns] of await columnsOf(to)) {
    const names = [...columns.keys()].filter((name) => known.get(table)?.has(name))
    if (names.length === 0) continue
    copied.set(table, await copyTable(from, to, { table, names }))
    for (const [name, serial] of columns) {
      if (serial !== null) {
        await to.query(`select setval('${serial}', coalesce(max("${name}"), 1)) from "${table}"`)
      }
    }
    if (table === 'organisation') await afterOrganisations()
  }
  return copied
}

async function columnsOf(client: pg.Client): Promise<Map<string, Map<string, string | null>>> {
  const tables = new Map<string, Map<string, string | null>>()
  for (const row of (await client.query(COLUMNS)).rows) {
    const { table, column, serial } = Column.parse(row)
    const columns = tables.get(table) ?? new Map<string, string | null>()
    tables.set(table, columns.set(column, serial))
  }
  return tables
}

async function copyTable(
  from: pg.Client,
  to: pg.Client,
  { table, names }: { table: string; names: readonly string[] },
): Promise<number> {
  const list = names.map((name) => `"${name}"`).join(', ')
  const { rows } = await from.query<unknown[]>({
    text: `select ${list} from "${table}"`,
    rowMode: 'array',
    types: AS_TEXT,
  })
  const places = names.map((_, index) => `$${index + 1}`).join(', ')
  await to.query(`delete from "${table}"`)
  for (const row of rows) {
    await to.query(
      `insert into "${table}" (${list}) overriding system value values (${places})`,
      row,
    )
  }
  return rows.length
}
