import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

import type { Logger } from '../../log.ts'
import { HostClient, HostFailure, HostPool } from '../hosts/host-pool.ts'
import { Hosts } from '../hosts/hosts.ts'
import type { Tables } from '../tables.ts'
import { ReadOnlyServer } from './failures.ts'
import { keepPlans } from './kept-plans.ts'
import { Retirement } from './retirement.ts'

// bigint columns are counts far below 2^53, so a number is exact and what every caller wants.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** A pool of plain connections, for the named statements of the hot path. */
export type Pool = pg.Pool

/** The typed query builder; a transaction has the same type, so that callers compose. */
export type Db = Kysely<Tables>

const STATEMENT_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 5_000

/**
 * PostgreSQL ends a statement at its time-out. Whoever hears nothing for this much longer has lost the server: a host that
 * goes away without a word keeps a connection open for a quarter of an hour, since TCP repeats what it has sent.
 */
const SILENCE_MS = 5_000
/** A connection at rest for this long is asked whether its server is still there. */
const KEEP_ALIVE_MS = 10_000

/** A new connection learns its tables anew: with 150 days its first list takes 100 ms longer. */
const IDLE_MS = 300_000

/**
 * A connection ends at this age: named statements that name a day's partition stay with it, and a server that became
 * another's standby may leave it open.
 */
const CONNECTION_LIFE_SECONDS = 3_600

/**
 * A server, a database or a role may be set otherwise, and statements would mean something else. Days are those of UTC and have
 * 24 hours, times and bytes are written as pg reads them, and a transaction sees what others committed.
 */
const PLAIN = [
  'timezone=UTC',
  'datestyle=ISO',
  'intervalstyle=postgres',
  'standard_conforming_strings=on',
  'bytea_output=hex',
  'extra_float_digits=1',
  'array_nulls=on',
  'transform_null_equals=off',
  'quote_all_identifiers=off',
  String.raw`default_transaction_isolation=read\ committed`,
]
  .map((setting) => `-c ${setting}`)
  .join(' ')

const ALONE = '-c max_parallel_workers_per_gather=0 -c jit=off'

/**
 * Named statements run thousands of times: planning each anew costs as much as running it. But a plan that is kept was
 * made when the day's partition was empty, where reading all of it looks best, and would go on reading all of it (seen:
 * 3.9 ms for 8 results instead of 0.95). So the ways of reading that grow with a table are closed: `lookups` have an
 * index for each row they touch; `inserts` read no table, and keep hash joins for the rows they bring.
 *
 * Without partition pruning: PostgreSQL 18.4 crashed when a row that an update had found through pruning at run time was
 * changed by another in the meantime (seen with two workers, one of them frozen). Statements of a worker name the
 * partition of their day instead (`eachPartition`): one over 150 days takes 2 to 5 ms to begin, whatever it finds.
 *
 * Statements of the API are planned each time, for the partitions of their days; compiling a plan, or starting parallel
 * workers, takes longer than `requests` do. `lists` read the rows of one index in its order, thousands if few match the
 * filter: with old statistics, reading and sorting a whole table looks cheaper, and is not once the table has grown. Their
 * plans over all days are cached. `tasks` may take longer, but must leave cores to requests: a count of 230,000 rows kept
 * two cores busy for 77 ms.
 */
const PLANNING = {
  inserts: '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off',
  lookups:
    '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_partition_pruning=off',
  requests: ALONE,
  tasks: ALONE,
  lists:
    '-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c enable_incremental_sort=off ' +
    ALONE,
}

/** DATABASE_URL; or its hosts, where the pools of a process share which of them takes writes. */
type Server = { url: string } | { hosts: Hosts }

export type PoolOptions = Server & {
  max: number
  log: Logger
  statementTimeoutMs?: number
  planning?: keyof typeof PLANNING
  /** Idle connections that stay open until the end of their life. */
  min?: number
  /** Shared by the pools of a process: a failure of one pool retires the connections of all. */
  retirement?: Retirement
}

/** A pool whose idle connections may break (a restart of PostgreSQL) without ending the process. */
export function openPool(options: PoolOptions): pg.Pool {
  const { max, log, planning, min = 0, retirement = new Retirement() } = options
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const hosts = 'hosts' in options ? options.hosts : new Hosts(options.url)
  const pool = new HostPool(hosts, {
    max,
    min,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: CONNECTION_LIFE_SECONDS,
    statement_timeout: statementTimeoutMs,
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + SILENCE_MS }),
    // A process that froze inside a transaction must not commit it minutes later.
    idle_in_transaction_session_timeout: statementTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: planning === undefined ? PLAIN : `${PLAIN} ${PLANNING[planning]}`,
    verify: (client, done) => checkNew(client, { retirement, hosts, log, done }),
  })
  retirement.watch(pool)
  if (planning === 'lists') keepPlans(pool)
  pool.on('error', (err) => log.warn({ err }, 'Lost a database connection'))
  // A client that breaks between two statements of its user emits an error event, which would end the process without a
  // listener. The next statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

interface NewConnection {
  pid: number
  is_read_only: boolean
}

const CHECK = `
  select pg_backend_pid() as pid, current_setting('transaction_read_only') = 'on' as is_read_only`

interface NewCheck {
  retirement: Retirement
  hosts: Hosts
  log: Logger
  done: (failure?: Error) => void
}

/** A connection is checked once, when it is new: behind one address, a standby may answer instead of the primary. */
function checkNew(client: pg.PoolClient, { retirement, hosts, log, done }: NewCheck): void {
  const host = client instanceof HostClient ? client.target : hosts.next
  const fail = (cause: Error): void => {
    hosts.failed(host)
    done(new HostFailure(host, cause))
  }
  const check = { text: CHECK, query_timeout: hosts.share(CONNECT_TIMEOUT_MS) }
  client.query<NewConnection>(check, (err: Error | null, answer) => {
    if (err !== null) return fail(err)
    const [found] = answer.rows
    if (found?.is_read_only !== false) return fail(new ReadOnlyServer())
    if (hosts.worked(host))
      log.info({ host: host.name }, 'Another host of DATABASE_URL takes writes')
    retirement.identify(client, found.pid)
    return done()
  })
}

export function openDb(pool: pg.Pool): Db {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}
