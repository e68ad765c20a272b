import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { openPool, type Pool } from '../../core/db/connection/db.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import type { Server } from '../../standalone/servers/server.ts'
import { IN_MEMORY, scratch, startTestPostgres } from '../kit/servers.ts'

const AWAY = 'PostgreSQL accepts and does not commit: are its synchronous standbys there?'
const BACK = 'PostgreSQL commits again'
/** A statement without an answer is given up after this time and 5 s. */
const STATEMENT_MS = 500
/** Statements given up one after the other: an outage lasts longer than any of them waits. */
const GIVEN_UP = 2
const SLOW_MS = 30_000
const LINES_MS = 15_000

const stack = new AsyncDisposableStack()
let server: Server
beforeAll(async () => {
  server = stack.use(await startTestPostgres(stack.use(scratch(IN_MEMORY)).path))
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('create table written (at timestamptz not null)')
  await client.end()
})
afterAll(async () => await stack.disposeAsync())

/** A pool under a watch, and the messages of its log so far. */
function openWatched(statementTimeoutMs: number): { pool: Pool; lines: string[] } {
  const lines: string[] = []
  const Line = z.object({ msg: z.string() })
  const write = (line: string): void => void lines.push(Line.parse(JSON.parse(line)).msg)
  const log = pino({ level: 'info' }, { write })
  const hosts = new Hosts(server.url)
  const retirement = new Retirement()
  const pool = openPool({ hosts, max: 2, log, retirement, statementTimeoutMs })
  const watch = new ServerWatch({ hosts, log, retirement })
  onTestFinished(async () => {
    await watch[Symbol.asyncDispose]()
    await pool.end()
  })
  return { pool, lines }
}

/** Returns when commits wait for the standby of this name; for none if it is empty. */
async function waitFor(standby: string): Promise<void> {
  await onServer(`alter system set synchronous_standby_names = '${standby}'`)
  await onServer('select pg_reload_conf()')
  await expect
    .poll(async () => await onServer('show synchronous_standby_names'))
    .toEqual([{ synchronous_standby_names: standby }])
  // Commits go by what the checkpointer has read, which it does before the next checkpoint.
  await onServer('checkpoint')
}

/** The rows of a statement on a connection of its own. */
async function onServer(statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query<object>(statement)).rows
  } finally {
    await client.end()
  }
}

const insert = async (pool: Pool): Promise<unknown> =>
  await pool.query('insert into written values (now())')

test('commits that wait for standbys are one outage in the log, whatever gives up meanwhile', async () => {
  const { pool, lines } = openWatched(STATEMENT_MS)
  const outages = (): string[] => lines.filter((line) => line === AWAY || line === BACK)
  await insert(pool)
  await waitFor('absent')
  for (let given = 0; given < GIVEN_UP; given++) {
    await expect(insert(pool)).rejects.toThrow('Query read timeout')
  }
  expect(outages()).toEqual([AWAY])
  await waitFor('')
  await expect.poll(outages, { timeout: LINES_MS }).toEqual([AWAY, BACK])
  await insert(pool)
  await waitFor('absent')
  const again = insert(pool)
  await expect.poll(outages, { timeout: LINES_MS }).toEqual([AWAY, BACK, AWAY])
  await waitFor('')
  await again
  await expect.poll(outages, { timeout: LINES_MS }).toEqual([AWAY, BACK, AWAY, BACK])
})

test('a slow statement of a server that commits is no outage', async () => {
  const { pool, lines } = openWatched(SLOW_MS)
  await pool.query('insert into written select now() from pg_sleep(5)')
  await insert(pool)
  expect(lines).toEqual([])
})
