import type pg from 'pg'

import { DAY_MS } from '../../core/clock.ts'
import { wholeOf } from '../../core/db/statistics/rollups.ts'
import { firstIdAt } from '../../core/ids.ts'
import type { Granularity } from '../../core/statistics/granularity.ts'
import {
  ATTEMPTS,
  DELIVERIES,
  DELIVERY_ROLLUPS,
  DELIVERY_SUMS,
  EVENT_ROLLUPS,
  EVENT_SUMS,
  EVENTS,
  FAILED,
  WAITING,
} from './history-sql.ts'
import type { Era } from './tenants.ts'

/** Counts by the minute are kept for two days. */
const MINUTES_DAYS = 2

/** Fill factors as in production. */
const TABLES = [
  ['event', 100],
  ['delivery', 50],
  ['attempt', 100],
] as const
type Table = (typeof TABLES)[number][0]

/** The events of one class and day: `count` of them, numbered from `first`. */
export interface Day {
  retentionClass: number
  /** In days. */
  age: number
  era: Era
  dayMs: number
  endMs: number
  first: number
  count: number
}

/** Makes the day's partitions anew, fills them, and only then indexes them. */
export async function fillDay(client: pg.Client, day: Day): Promise<void> {
  const name = (table: Table): string => `${table}_${day.retentionClass}_${dayName(day.dayMs)}`
  for (const [table, fillfactor] of TABLES) {
    await client.query(`
      drop table if exists ${name(table)};
      create table ${name(table)} (like ${table}_${day.retentionClass} including defaults including storage)
        with (fillfactor = ${fillfactor}, autovacuum_enabled = off)`)
  }
  const stepMs = (day.endMs - day.dayMs) / Math.max(1, day.count)
  const values = [day.era, day.first, day.count, day.dayMs, stepMs, day.retentionClass]
  await client.query(EVENTS(name('event')), values)
  await client.query(DELIVERIES(name('delivery'), name('event')), [day.age])
  await client.query(ATTEMPTS(name('attempt'), name('delivery')))
  await client.query(WAITING(name('delivery')))
  await client.query(FAILED(name('delivery')))
  await addUp(client, day, name)
  for (const [table] of TABLES) {
    await indexLike(client, `${table}_${day.retentionClass}`, name(table))
    await client.query(`
      alter table ${name(table)} reset (autovacuum_enabled);
      alter table ${table}_${day.retentionClass} attach partition ${name(table)}
        for values from ('${firstIdAt(day.dayMs)}') to ('${firstIdAt(day.dayMs + DAY_MS)}')`)
    await client.query(`vacuum analyze ${name(table)}`)
  }
}

/** As the housekeeper does. */
async function addUp(client: pg.Client, day: Day, name: (table: Table) => string): Promise<void> {
  const counted: Granularity[] = day.age < MINUTES_DAYS ? ['minute', 'hour'] : ['hour']
  for (const unit of counted) {
    await client.query(EVENT_ROLLUPS(name('event')), [unit])
    await client.query(DELIVERY_ROLLUPS(name('delivery')), [unit])
  }
  const sums: [Granularity, Granularity, string, boolean][] = [
    ...counted.map((unit): [Granularity, Granularity, string, boolean] => [
      unit,
      unit,
      wholeOf(unit),
      true,
    ]),
    ['hour', 'day', 'day', false],
    ['hour', 'day', wholeOf('day'), true],
  ]
  for (const sum of sums) {
    const values = [...sum, day.era, new Date(day.dayMs)]
    await client.query(EVENT_SUMS, values)
    await client.query(DELIVERY_SUMS, values)
  }
}

/** An attached table would get them too, while the tables of all other days are locked. */
async function indexLike(client: pg.Client, parent: string, name: string): Promise<void> {
  const { rows } = await client.query<{ definition: string; key: string | null }>(
    `select pg_get_indexdef(i.indexrelid) as definition, pg_get_constraintdef(c.oid) as key
     from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype = 'p'
     where i.indrelid = $1::regclass`,
    [parent],
  )
  for (const { definition, key } of rows) {
    const columns = definition.slice(definition.indexOf(' USING '))
    await client.query(
      key === null ? `create index on ${name}${columns}` : `alter table ${name} add ${key}`,
    )
  }
}

function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')
}
