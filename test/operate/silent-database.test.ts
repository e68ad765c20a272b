import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { isDatabaseAway, isTimeout } from '../../core/db/connection/failures.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { holdLease } from '../../core/db/processes/leases.ts'
import { openDatabaseLink, type DatabaseLink } from '../kit/database-link.ts'
import { startWorld, type World } from '../kit/world.ts'

const STATEMENT_MS = 500
/** The time-out of a statement, what is waited for beyond it, and a machine that may stand still meanwhile. */
const GIVEN_UP_MS = STATEMENT_MS + 5_000 + 4_000

let world: World
let link: DatabaseLink
beforeAll(async () => {
  world = await startWorld()
  link = await openDatabaseLink(world.databaseUrl)
})
afterAll(async () => {
  await link[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const BACKEND = 'select pg_backend_pid() as pid'

/** Runs a statement on so many connections at once. */
async function eachConnection(
  pool: pg.Pool,
  count: number,
  statement: string,
): Promise<{ pid?: number }[]> {
  const clients = await Promise.all(Array.from({ length: count }, async () => await pool.connect()))
  const answers = await Promise.all(
    clients.map(async (client) => await client.query<{ pid?: number }>(statement)),
  )
  for (const client of clients) client.release()
  return answers.map(({ rows }) => rows[0] ?? {})
}

async function backendsOf(pool: pg.Pool, count: number): Promise<(number | undefined)[]> {
  const rows = await eachConnection(pool, count, BACKEND)
  return rows.map(({ pid }) => pid)
}

/** The same by the pool's own statements, which return connections to it in a way of their own. */
async function backendsOfStatements(pool: pg.Pool, count: number): Promise<number[]> {
  const answers = Array.from({ length: count }, async () => {
    const { rows } = await pool.query<{ pid: number }>(`${BACKEND} from pg_sleep(0.2)`)
    return rows.map(({ pid }) => pid)
  })
  return (await Promise.all(answers)).flat()
}

/** The same by the query builder, which returns connections to their pool in a way of its own. */
async function backendsOfDb(db: Db, count: number): Promise<(number | undefined)[]> {
  const all = Promise.withResolvers<void>()
  let asked = 0
  return await Promise.all(
    Array.from({ length: count }, async () =>
      db.connection().execute(async (connection) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(
          connection,
        )
        if (++asked === count) all.resolve()
        await all.promise
        return rows[0]?.pid
      }),
    ),
  )
}

/** Asks PostgreSQL for something, which falls silent before the last statement. */
type Ask = (pool: pg.Pool, db: Db) => Promise<unknown>

const ASKS: [string, Ask][] = [
  [
    'a statement of a pool',
    async (pool) => {
      link.silence()
      await pool.query('select 1')
    },
  ],
  [
    'a statement of the query builder',
    async (_pool, db) => {
      link.silence()
      await sql`select 1`.execute(db)
    },
  ],
  [
    'a transaction',
    async (_pool, db) => {
      await db.transaction().execute(async (tx) => {
        await sql`select 1`.execute(tx)
        link.silence()
        await sql`select 2`.execute(tx)
      })
    },
  ],
]

test.for(ASKS)(
  '%s that gets no answer fails as without PostgreSQL, and its connection is closed',
  { timeout: 3 * GIVEN_UP_MS },
  async ([, ask]) => {
    const { log } = world.deps
    const pool = openPool({ url: link.url, max: 1, log, statementTimeoutMs: STATEMENT_MS })
    const db = openDb(pool)
    onTestFinished(async () => {
      await link.mend()
      await db.destroy()
    })
    const { rows: before } = await pool.query(BACKEND)
    const askedAt = performance.now()
    const failure: unknown = await ask(pool, db).catch((err: unknown) => err)
    expect(performance.now() - askedAt).toBeLessThan(GIVEN_UP_MS)
    expect(isDatabaseAway(failure), String(failure)).toBe(true)
    await link.mend()
    const { rows: after } = await pool.query(BACKEND)
    expect(after[0]?.pid).not.toBe(before[0]?.pid)
  },
)

test('a statement without an answer retires the connections that were opened before it', async () => {
  const { log } = world.deps
  const pool = openPool({ url: link.url, max: 3, log, statementTimeoutMs: STATEMENT_MS })
  onTestFinished(async () => {
    await link.mend()
    await pool.end()
  })
  for (const backends of [backendsOf, backendsOfStatements]) {
    const before = await backends(pool, 3)
    expect(new Set(before).size).toBe(3)
    link.silence()
    await expect(pool.query('select 1')).rejects.toThrow('Query read timeout')
    await link.mend()
    const after = await backends(pool, 3)
    expect(after.filter((pid) => before.includes(pid))).toEqual([])
  }
})

test('a connection that a demoted primary left open is retired with the others of its time', async () => {
  const { log } = world.deps
  const retirement = new Retirement()
  const pool = openPool({ url: world.databaseUrl, max: 3, log, retirement })
  const sibling = openPool({ url: world.databaseUrl, max: 1, log, retirement })
  const db = openDb(pool)
  onTestFinished(async () => {
    await db.destroy()
    await sibling.end()
  })
  const before = [...(await backendsOfDb(db, 3)), ...(await backendsOf(sibling, 1))]
  // A server that was demoted answers on the connections that it has, and takes no writes.
  for (const one of [pool, sibling]) {
    await eachConnection(one, one.totalCount, 'set default_transaction_read_only = on')
  }
  expect(await backendsOfDb(db, 3)).toEqual(expect.arrayContaining(before.slice(0, 3)))
  const failure: unknown = await holdLease(db, 'demoted', 'test').catch((err: unknown) => err)
  expect(isDatabaseAway(failure), String(failure)).toBe(true)
  expect(await holdLease(db, 'demoted', 'test')).toBe(1)
  const after = [...(await backendsOf(pool, 3)), ...(await backendsOf(sibling, 1))]
  expect(after.filter((pid) => before.includes(pid))).toEqual([])
})

test('a connection in use while its server is condemned is closed when it is returned', async () => {
  const { log } = world.deps
  const pool = openPool({ url: world.databaseUrl, max: 2, log })
  onTestFinished(async () => await pool.end())
  const inUse = await pool.connect()
  const { rows: used } = await inUse.query<{ pid: number }>(BACKEND)
  await expect(pool.query('begin read only; create table demoted ()')).rejects.toThrow('read-only')
  await inUse.query('select 1')
  inUse.release()
  expect(await backendsOf(pool, 2)).not.toContain(used[0]?.pid)
})

describe('with a watch over the server', () => {
  const SLOW_MS = 3_000

  function openWatched() {
    const { log } = world.deps
    const retirement = new Retirement()
    const pool = openPool({ url: link.url, max: 3, log, retirement })
    const watch = new ServerWatch({ hosts: new Hosts(link.url), log, retirement })
    onTestFinished(async () => {
      await link.mend()
      await watch[Symbol.asyncDispose]()
      await pool.end()
    })
    return pool
  }

  test('statements on a server that others left fail after seconds, long before their time-out', async () => {
    const pool = openWatched()
    const before = await backendsOf(pool, 3)
    link.strand()
    const askedAt = performance.now()
    const asked = await Promise.allSettled([pool.query('select 1'), pool.query('select 2')])
    expect(performance.now() - askedAt).toBeLessThan(SLOW_MS + 5_000)
    for (const { status } of asked) expect(status).toBe('rejected')
    const failures = asked.map((one) => one.status === 'rejected' && isDatabaseAway(one.reason))
    expect(failures).toEqual([true, true])
    const after = await backendsOf(pool, 3)
    expect(after.filter((pid) => before.includes(pid))).toEqual([])
  })

  test('a slow statement goes on', async () => {
    const pool = openWatched()
    const { rows } = await pool.query(`select 1 as done from pg_sleep(${SLOW_MS / 1_000 + 2})`)
    expect(rows).toEqual([{ done: 1 }])
  })

  test('statements wait for a silent server while no other answers', async () => {
    const pool = openWatched()
    await pool.query('select 1')
    link.silence()
    const asked = pool.query('select 1 as done')
    await sleep(SLOW_MS + 4_000)
    await link.mend()
    expect((await asked).rows).toEqual([{ done: 1 }])
  })
})

test('a new connection to a server that takes no writes is refused as no server', async () => {
  const { log } = world.deps
  const database = new URL(world.databaseUrl).pathname.slice(1)
  const setting = 'default_transaction_read_only'
  await world.pool.query(`alter database "${database}" set ${setting} = on`)
  const pool = openPool({ url: world.databaseUrl, max: 1, log })
  onTestFinished(async () => {
    await world.pool.query(`alter database "${database}" reset ${setting}`)
    await pool.end()
  })
  const failure: unknown = await pool.query('select 1').catch((err: unknown) => err)
  expect(String(failure)).toContain('takes no writes')
  expect(isDatabaseAway(failure)).toBe(true)
})

test('a statement that PostgreSQL ends for its length is no lost server', async () => {
  const { log } = world.deps
  const pool = openPool({ url: link.url, max: 1, log, statementTimeoutMs: STATEMENT_MS })
  onTestFinished(async () => await pool.end())
  const failure: unknown = await pool.query('select pg_sleep(5)').catch((err: unknown) => err)
  expect(isTimeout(failure)).toBe(true)
  expect(isDatabaseAway(failure)).toBe(false)
})
