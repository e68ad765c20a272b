import type pg from 'pg'
import type { Registry } from 'prom-client'

import { gaugesOf } from '../../metrics/instruments.ts'

/** Tells how the connections of a process are used, by the names of its pools. */
export function watchPools(registry: Registry, pools: Readonly<Record<string, pg.Pool>>): void {
  const show = (name: string, help: string, read: (pool: pg.Pool) => number): void =>
    gaugesOf(registry, { name, help, label: 'pool' }, () =>
      Object.fromEntries(Object.entries(pools).map(([pool, one]) => [pool, read(one)])),
    )
  show(
    'postern_database_connections',
    'Connections to PostgreSQL that are open',
    (pool) => pool.totalCount,
  )
  show(
    'postern_database_idle_connections',
    'Connections to PostgreSQL that nothing uses',
    (pool) => pool.idleCount,
  )
  show(
    'postern_database_connections_max',
    'Connections to PostgreSQL that may be open',
    (pool) => pool.options.max,
  )
  show(
    'postern_database_waiting_statements',
    'Statements and transactions that wait for a connection',
    (pool) => pool.waitingCount,
  )
}
