import pg from 'pg'

import { Unusable } from '../start-up.ts'
import { Hosts, type Host } from './hosts/hosts.ts'
import { MIGRATIONS } from './migrations/index.ts'

const VERSION_MIN = 15
const ANSWER_MS = 5_000

interface Found {
  version: string
  number: number
  is_replica: boolean
  is_read_only: boolean
  has_migrations: boolean
}

/**
 * Resolves when PostgreSQL, one of the hosts of the URL, takes writes in a schema of this version. Throws an Unusable that
 * says of each host why not.
 */
export async function checkDatabase(url: string, isMigrated = true): Promise<void> {
  const faults: Unusable[] = []
  const hosts = new Hosts(url)
  for (const host of hosts.inOrder()) {
    try {
      await checkHost(host, { isMigrated, timeoutMs: hosts.share(ANSWER_MS) })
      return
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      faults.push(error)
    }
  }
  const [first] = faults
  if (first !== undefined && faults.length === 1) throw first
  throw new Unusable(
    faults.map(({ message }) => message).join('; '),
    faults.every(({ isLasting }) => isLasting),
    { cause: new AggregateError(faults) },
  )
}

/**
 * Over a connection of its own, which is gone afterwards: one that failed half-way would stay in a pool and keep the process
 * alive.
 */
async function checkHost(
  { url }: Host,
  { isMigrated, timeoutMs }: { isMigrated: boolean; timeoutMs: number },
): Promise<void> {
  const client = clientFor(url, timeoutMs)
  const place = placeOf(client)
  try {
    await client.connect()
    const { rows } = await client.query<Found>(
      `select current_setting('server_version') as version,
              current_setting('server_version_num')::int4 as number,
              pg_is_in_recovery() as is_replica,
              current_setting('default_transaction_read_only') = 'on' as is_read_only,
              to_regclass('kysely_migration') is not null as has_migrations`,
    )
    const [found] = rows
    if (found === undefined) throw new Error('no answer')
    refuseServer(found, place)
    if (isMigrated) await refuseSchema(client, found, place)
  } catch (error) {
    throw error instanceof Unusable ? error : unusable(error, place)
  } finally {
    await client.end().catch(() => {})
  }
}

function refuseServer({ version, number, is_replica, is_read_only }: Found, place: Place): void {
  const name = nameOf(place)
  if (number < VERSION_MIN * 10_000) {
    throw new Unusable(`${name} is version ${version}: it must be ${VERSION_MIN} or newer`, true)
  }
  if (is_replica) throw new Unusable(`${name} is a replica and takes no writes`, false)
  if (is_read_only) throw new Unusable(`${name} takes no writes: it is set to read only`, false)
}

/** A newer schema is no fault: the version before it goes on working while a new one is rolled out. */
async function refuseSchema(
  client: pg.Client,
  { has_migrations }: Found,
  place: Place,
): Promise<void> {
  const name = nameOf(place)
  if (!has_migrations) {
    throw new Unusable(`${name} has no tables of Postern yet: run api/migrate`, false)
  }
  const { rows } = await client.query<{ name: string }>('select name from kysely_migration')
  const done = new Set(rows.map((row) => row.name))
  const missing = Object.keys(MIGRATIONS).filter((migration) => !done.has(migration))
  if (missing.length > 0) {
    throw new Unusable(`${name} lacks the migrations from ${missing[0]} on: run api/migrate`, false)
  }
}

interface Place {
  host: string
  port: number
  database: string
  user: string
}

/** A file that the URL names (sslrootcert) is opened here. */
function clientFor(url: string, timeoutMs: number): pg.Client {
  try {
    const timeouts = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs }
    const client = new pg.Client({ connectionString: url, ...timeouts })
    // The next statement reports a connection that broke; without a listener the error event would end the process.
    client.on('error', () => {})
    return client
  } catch (cause) {
    throw new Unusable(`DATABASE_URL cannot be used: ${lineOf(cause)}`, true, { cause })
  }
}

/** As pg reads it. */
function placeOf({ host, port, database, user }: pg.Client): Place {
  return { host, port, database: database ?? '', user: user ?? '' }
}

function nameOf({ host, port, database }: Place): string {
  return `PostgreSQL at ${host}:${port}/${database}`
}

/** By SQLSTATE or by the code of the socket; what is not here is said in its own words. */
const LASTING: Record<string, (place: Place) => string> = {
  '28P01': ({ user }) => `refuses the password of the user "${user}"`,
  '3D000': ({ database }) => `has no database "${database}"`,
  DEPTH_ZERO_SELF_SIGNED_CERT: () => 'has a certificate that is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: () => 'has a certificate that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: () => 'has a certificate that is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: () => 'has a certificate of another name',
  CERT_HAS_EXPIRED: () => 'has a certificate that has expired',
}
const PASSING: Record<string, (place: Place) => string> = {
  ECONNREFUSED: () => 'refuses connections: nothing listens there',
  ENOENT: () => 'refuses connections: there is no such socket',
  ENOTFOUND: ({ host }) => `cannot be found: the name ${host} has no address`,
  EAI_AGAIN: ({ host }) => `cannot be found: the name server does not answer for ${host}`,
  ETIMEDOUT: () => 'does not answer',
  EHOSTUNREACH: () => 'cannot be reached: there is no way to its network',
  ENETUNREACH: () => 'cannot be reached: there is no way to its network',
  ECONNRESET: () => 'closes the connection',
  '53300': () => 'has no connection left',
  '57P03': () => 'is starting or stopping',
}

/** pg gives these no code. */
const BY_MESSAGE: readonly [RegExp, string, isLasting: boolean][] = [
  [/timeout|timed out/i, 'does not answer', false],
  [/Connection terminated/, 'closes the connection', false],
  [/does not support SSL/, 'speaks no TLS, which sslmode asks for', true],
  [/password must be a (non-empty )?string/, 'asks for a password and DATABASE_URL has none', true],
]

/** Describes the server's fault behind an error of pg, in a line. */
function unusable(cause: unknown, place: Place): Unusable {
  const name = nameOf(place)
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const message = lineOf(cause)
  const lasting = LASTING[code]
  if (lasting !== undefined) return new Unusable(`${name} ${lasting(place)}`, true, { cause })
  const passing = PASSING[code]
  if (passing !== undefined) return new Unusable(`${name} ${passing(place)}`, false, { cause })
  const [, words, isLasting] = BY_MESSAGE.find(([pattern]) => pattern.test(message)) ?? []
  if (words !== undefined) return new Unusable(`${name} ${words}`, isLasting === true, { cause })
  // Class 28 is a user that may not come in, by pg_hba.conf or for want of the right to.
  return new Unusable(`${name}: ${message}`, code.startsWith('28') || code === '42501', { cause })
}

function lineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}
