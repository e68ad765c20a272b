import { chownSync, statSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { openPool, type Pool } from '../../core/db/connection/db.ts'
import { isDatabaseAway } from '../../core/db/connection/failures.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { checkDatabase } from '../../core/db/usable.ts'
import { dataOf } from '../../standalone/servers/postgres-data.ts'
import { makeCertificate } from '../email/certificate.ts'
import { openDatabaseLink } from '../kit/database-link.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { startPair, type Pair } from '../kit/standby.ts'

const LOG = pino({ level: 'silent' })
const NOWHERE = '127.0.0.1:1'
/** All hosts together have 5 s; a busy machine may take a while longer. */
const CONNECT_MS = 5_000 + 3_000

const stack = new AsyncDisposableStack()
let directory: string
let pair: Pair
beforeAll(async () => {
  directory = stack.use(scratch(IN_MEMORY)).path
  pair = stack.use(await startPair(directory))
})
afterAll(async () => await stack.disposeAsync())

function poolOf(url: string, max = 2): Pool {
  const pool = openPool({ url, max, log: LOG })
  onTestFinished(async () => await pool.end())
  return pool
}

/** The URL with these hosts. */
function withHosts(...hosts: readonly string[]): string {
  return pair.primary.url.replace(pair.hosts[0], hosts.join(','))
}

async function portOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ port: number }>('select inet_server_port() as port')
  return rows[0]?.port ?? 0
}

test('a connection goes to the host that takes writes, wherever it stands in the list', async () => {
  const [primary, standby] = pair.hosts
  for (const hosts of [
    [primary, standby],
    [standby, primary],
    [NOWHERE, standby, primary],
  ]) {
    for (const attrs of ['', '?target_session_attrs=read-write', '?target_session_attrs=any']) {
      const url = `${withHosts(...hosts)}${attrs}`
      expect(await portOf(poolOf(url))).toBe(pair.primary.port)
      await checkDatabase(url, false)
    }
  }
})

test('connections that are opened at once find the host together', async () => {
  const pool = poolOf(withHosts(NOWHERE, pair.hosts[1], pair.hosts[0]), 8)
  const asked = Array.from({ length: 30 }, async () => await portOf(pool))
  expect(new Set(await Promise.all(asked))).toEqual(new Set([pair.primary.port]))
})

test('a silent host costs its share of the time once, and then no more', async () => {
  await using link = await openDatabaseLink(pair.primary.url)
  link.silence()
  const pool = poolOf(withHosts(new URL(link.url).host, pair.hosts[0]))
  const startedAt = performance.now()
  const first = await pool.connect()
  expect(performance.now() - startedAt).toBeLessThan(CONNECT_MS)
  const foundAt = performance.now()
  const second = await pool.connect()
  expect(performance.now() - foundAt).toBeLessThan(1_000)
  for (const client of [first, second]) client.release()
})

test('without a host that takes writes, one error gives the reason of each and no password', async () => {
  const url = withHosts(NOWHERE, pair.hosts[1])
  const failure: unknown = await poolOf(url)
    .query('select 1')
    .catch((err: unknown) => err)
  const { password } = new URL(pair.primary.url)
  expect(String(failure)).toMatch(
    new RegExp(`^NoHost: No host of DATABASE_URL takes writes: ${NOWHERE}: .*ECONNREFUSED.*; `),
  )
  expect(String(failure)).toContain(`${pair.hosts[1]}: PostgreSQL takes no writes`)
  expect(isDatabaseAway(failure)).toBe(true)
  const fault: unknown = await checkDatabase(url, false).catch((err: unknown) => err)
  expect(String(fault)).toContain(`PostgreSQL at ${NOWHERE}/postern refuses connections`)
  expect(String(fault)).toContain(`PostgreSQL at ${pair.hosts[1]}/postern is a replica`)
  expect(`${String(failure)} ${String(fault)}`).not.toContain(password)
})

test('the log line of a lost connection shows no password', async () => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const pool = openPool({ url: pair.url(), max: 1, log })
  onTestFinished(async () => await pool.end())
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  await poolOf(pair.url()).query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await expect.poll(() => lines.join('')).toContain('Lost a database connection')
  expect(lines.join('')).not.toContain(new URL(pair.primary.url).password)
})

test('statements on a silent host are given up, and the next host is tried', async () => {
  await using link = await openDatabaseLink(pair.primary.url)
  const hosts = new Hosts(withHosts(new URL(link.url).host, pair.hosts[0]))
  const retirement = new Retirement()
  const pool = openPool({ hosts, max: 2, log: LOG, retirement })
  await using _watch = new ServerWatch({ hosts, log: LOG, retirement })
  onTestFinished(async () => await pool.end())
  await pool.query('select 1')
  link.silence()
  const failure: unknown = await pool.query('select 1').catch((err: unknown) => err)
  expect(isDatabaseAway(failure), String(failure)).toBe(true)
  const askedAt = performance.now()
  expect(await portOf(pool)).toBe(pair.primary.port)
  expect(performance.now() - askedAt).toBeLessThan(1_000)
})

test('a certificate is compared with the host that is tried', async () => {
  const data = dataOf(join(directory, 'first', 'postgres')) ?? ''
  const { cert, key } = makeCertificate(data, 'localhost')
  const { uid, gid } = statSync(data)
  for (const file of [cert, key]) chownSync(file, uid, gid)
  const client = new pg.Client({ connectionString: pair.primary.url })
  await client.connect()
  for (const setting of [`ssl_cert_file = '${cert}'`, `ssl_key_file = '${key}'`, 'ssl = on']) {
    await client.query(`alter system set ${setting}`)
  }
  await client.query('select pg_reload_conf()')
  await client.end()
  const { port } = pair.primary
  const query = `?sslmode=verify-full&sslrootcert=${cert}`
  const url = `${withHosts(`127.0.0.1:${port}`, `localhost:${port}`)}${query}`
  await expect
    .poll(async () => await checkDatabase(url, false).then(() => 'usable', String))
    .toBe('usable')
  expect(await portOf(poolOf(url))).toBe(port)
  const wrong = poolOf(`${withHosts(`127.0.0.1:${port}`, NOWHERE)}${query}`)
  await expect(wrong.query('select 1')).rejects.toThrow(
    /127.0.0.1:\d+: Hostname\/IP does not match/,
  )
})

// The last: afterwards the standby is the primary.
test('connections that a demoted primary left open are replaced by those to the promoted standby', async () => {
  const pool = poolOf(pair.url('?target_session_attrs=read-write'), 4)
  const byCallback = async (): Promise<number> =>
    await new Promise((resolve, reject) => {
      pool.connect((err, client, done) => {
        done()
        if (client === undefined) reject(err ?? new Error('no client'))
        else resolve(client.port)
      })
    })
  expect(await portOf(pool)).toBe(pair.primary.port)
  expect(await byCallback()).toBe(pair.primary.port)
  await demote(pair.primary.url)
  await pair.promote()
  await expect.poll(async () => await writes(pool)).toBe(pair.standby.port)
  expect(await byCallback()).toBe(pair.standby.port)
  await pair.primary.stop()
  expect(await portOf(poolOf(pair.url()))).toBe(pair.standby.port)
})

/** The server takes no writes from now on, and leaves its connections open. */
async function demote(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('alter system set default_transaction_read_only = on')
  await client.query('select pg_reload_conf()')
  await client.end()
}

/** The port of the server that took a write; 0 when it was refused. */
async function writes(pool: Pool): Promise<number> {
  const refused = await pool.query('create table if not exists written ()').catch(() => undefined)
  return refused === undefined ? 0 : await portOf(pool)
}
