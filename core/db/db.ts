import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

import type { Logger } from '../log.ts'
import type { Tables } from './tables.ts'

// bigint columns are counts far below 2^53, so a number is exact and what every caller wants.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** A pool of plain connections, for the named statements of the hot path. */
export type Pool = pg.Pool

/** The typed query builder; a transaction has the same type, so that callers compose. */
export type Db = Kysely<Tables>

const STATEMENT_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 5_000

export interface PoolOptions {
  url: string
  max: number
  log: Logger
  statementTimeoutMs?: number
  /** Named statements run thousands of times: planning each anew costs as much as running it (measured). */
  isHotPath?: boolean
}

/** A pool whose idle connections may break (a restart of PostgreSQL) without ending the process. */
export function openPool({ url, max, log, statementTimeoutMs, isHotPath }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    ...(isHotPath && { options: '-c plan_cache_mode=force_generic_plan' }),
  })
  pool.on('error', (err) => log.warn({ err }, 'Lost a database connection'))
  return pool
}

export function openDb(pool: pg.Pool): Db {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}
