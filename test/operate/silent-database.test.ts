import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { isDatabaseAway, isTimeout } from '../../core/db/connection/failures.ts'
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

test('a statement that PostgreSQL ends for its length is no lost server', async () => {
  const { log } = world.deps
  const pool = openPool({ url: link.url, max: 1, log, statementTimeoutMs: STATEMENT_MS })
  onTestFinished(async () => await pool.end())
  const failure: unknown = await pool.query('select pg_sleep(5)').catch((err: unknown) => err)
  expect(isTimeout(failure)).toBe(true)
  expect(isDatabaseAway(failure)).toBe(false)
})
