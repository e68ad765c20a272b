import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { searchEvents } from '../../core/db/events/search.ts'
import { seedEvent, seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Settings that a database or a role may have: what it is set to, and what a connection of ours has. */
const SETTINGS: readonly [name: string, theirs: string, ours: string][] = [
  ['standard_conforming_strings', 'off', 'on'],
  ['bytea_output', 'escape', 'hex'],
  ['extra_float_digits', '-15', '1'],
  ['array_nulls', 'off', 'on'],
  ['transform_null_equals', 'on', 'off'],
  ['quote_all_identifiers', 'on', 'off'],
  ['default_transaction_isolation', 'serializable', 'read committed'],
  ['client_encoding', 'LATIN1', 'UTF8'],
  ['timezone', 'America/New_York', 'UTC'],
  ['datestyle', 'SQL, DMY', 'ISO, MDY'],
  ['intervalstyle', 'iso_8601', 'postgres'],
]

const stack = new AsyncDisposableStack()
let world: World
let db: Db

beforeAll(async () => {
  world = stack.use(await startWorld())
  const database = sql.id(new URL(world.databaseUrl).pathname.slice(1))
  for (const [name, theirs] of SETTINGS) {
    await sql`alter database ${database} set ${sql.raw(name)} = ${sql.lit(theirs)}`.execute(
      world.db,
    )
  }
  const options = { url: world.databaseUrl, max: 1, log: world.deps.log }
  db = stack.use(openDb(openPool({ ...options, planning: 'requests' })))
})
afterAll(async () => await stack.disposeAsync())

test.for(SETTINGS)('%s is not %s, as the database has it, but %s', async ([name, , ours]) => {
  const { rows } = await sql<{ value: string }>`select current_setting(${name}) as value`.execute(
    db,
  )
  expect(rows).toEqual([{ value: ours }])
})

test.for(['a', 'evt_0', String.raw`it's \ % _`, 'null'])(
  'a search for %s finds its event',
  async (term) => {
    const shop = await seedRoute(world, `shop-${term.length}-${Math.random()}`)
    const raw = `${JSON.stringify({ type: 'x', said: term })} ${term}`
    const ids = [
      await seedEvent(world, { ...shop, raw }),
      await seedEvent(world, { ...shop, raw: `${raw}\u0000` }),
    ]
    const filter = {
      projectId: uuid('prj', world.projectId),
      sourceId: uuid('src', shop.sourceId),
      status: undefined,
      eventType: undefined,
      fromId: undefined,
      untilId: undefined,
      sortDir: 'asc',
      afterId: undefined,
    } as const
    const { found } = await searchEvents(db, filter, term, { rows: 10, bytes: 1_000_000 })
    expect(found.map(({ id }) => id)).toEqual(ids.map((id) => uuid('evt', id)))
  },
)
