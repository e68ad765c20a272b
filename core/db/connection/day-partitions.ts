import { sql } from 'kysely'
import pg from 'pg'

import { DAY_MS } from '../../clock.ts'
import { firstIdAt, timeOfId } from '../../ids.ts'
import { RETENTION_CLASSES } from '../../limits.ts'
import type { Db } from './db.ts'
import { isUndefinedTable } from './failures.ts'

/** Over a long week-end without a housekeeper. Each day that is not needed yet costs every plan that cannot pass it over. */
const DAYS_AHEAD = 3

/**
 * A delivery is written once and updated once, mostly, and rows of one page in one batch: old versions cannot give way
 * to new ones within it. With half of the page free nearly all updates stay in their page and touch no index (HOT);
 * with a quarter, half of them did not, and each cost five index entries (measured).
 */
const PARTITIONED = [
  { table: 'event', column: 'id', fillfactor: 100 },
  { table: 'delivery', column: 'id', fillfactor: 50 },
  { table: 'attempt', column: 'delivery_id', fillfactor: 100 },
] as const

/** Two processes that make partitions at once wait for each other. */
const PARTITION_LOCK = 7_058_612

const LOCK_NOT_AVAILABLE = '55P03'

/** Error code of PostgreSQL when the DEFAULT partition already holds rows of the new day. */
const DEFAULT_HOLDS_ROWS = '23514'

/**
 * Makes each class's partition, with a DEFAULT below it that catches what has no day, and the days from yesterday to
 * three ahead for the classes that some organisation is in. Safe to run again and side by side. A day whose rows
 * are in the DEFAULT already stays there.
 */
export async function ensurePartitions(db: Db, nowMs: number): Promise<void> {
  await withPartitionLock(db, async (connection) => {
    const existing = await partitionNames(connection)
    const used = await classesInUse(connection)
    for (const { name, definition } of partitionsAt(nowMs, used)) {
      if (!existing.has(name)) await makePartition(connection, name, definition)
    }
  })
}

async function withPartitionLock(db: Db, work: (connection: Db) => Promise<void>): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${PARTITION_LOCK})`.execute(connection)
    try {
      await work(connection)
    } finally {
      await sql`select pg_advisory_unlock(${PARTITION_LOCK})`.execute(connection)
    }
  })
}

/** The values that decide the partition of a row. */
interface Place {
  retentionClass: number
  id: string
}

export function placeOfDelivery(delivery: { retentionClass: number; deliveryId: string }): Place {
  return { retentionClass: delivery.retentionClass, id: delivery.deliveryId }
}

interface ByPartition<T> {
  /** Undefined for what is in no table: it is passed over. */
  placeOf: (item: T) => Place | undefined
  run: (table: string, items: T[]) => Promise<void>
}

/**
 * Calls `run` for the items of each class and day with the partition they are in, one after the other, in the order of
 * their first items. A day that came before its partition was made is in the class's DEFAULT: then with the whole table.
 */
export async function eachPartition<T>(
  table: 'event' | 'delivery',
  items: readonly T[],
  { placeOf, run }: ByPartition<NoInfer<T>>,
): Promise<void> {
  const groups = Map.groupBy(items, (item) => {
    const place = placeOf(item)
    return place && keyOf(place)
  })
  for (const [key, group] of groups) {
    if (key === undefined) continue
    try {
      await run(`${table}_${classAndDay(key)}`, group)
    } catch (error) {
      if (!isUndefinedTable(error)) throw error
      await run(table, group)
    }
  }
}

const CLASSES_MAX = 1_000

/** Class and day in one number: their text for each row would be 6 us of the 165 that a delivery takes of a worker. */
function keyOf(place: Place): number {
  return Math.floor(timeOfId(place.id) / DAY_MS) * CLASSES_MAX + place.retentionClass
}

function classAndDay(key: number): string {
  return `${key % CLASSES_MAX}_${dayName(Math.floor(key / CLASSES_MAX))}`
}

/**
 * Makes one day of one class, which may be long past: for rows that move there. Where the class cannot be locked within
 * a moment, while which everybody else would wait, the day stays in the DEFAULT.
 */
export async function ensureDay(db: Db, retentionClass: number, dayMs: number): Promise<void> {
  await withPartitionLock(db, async (connection) => {
    const existing = await partitionNames(connection)
    await sql`set lock_timeout = '50ms'`.execute(connection)
    try {
      for (const { name, definition } of partitionsOfDay(
        retentionClass,
        Math.floor(dayMs / DAY_MS),
      )) {
        if (!existing.has(name)) await makePartition(connection, name, definition)
      }
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error
    } finally {
      await sql`reset lock_timeout`.execute(connection)
    }
  })
}

async function makePartition(db: Db, name: string, definition: string): Promise<void> {
  try {
    await sql.raw(`create table ${name} ${definition}`).execute(db)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== DEFAULT_HOLDS_ROWS) throw error
  }
}

interface Definition {
  name: string
  definition: string
}

function* partitionsAt(nowMs: number, used: ReadonlySet<number>): Generator<Definition> {
  const today = Math.floor(nowMs / DAY_MS)
  for (const days of RETENTION_CLASSES) {
    for (const { table, column, fillfactor } of PARTITIONED) {
      const parent = `${table}_${days}`
      yield {
        name: parent,
        definition: `partition of ${table} for values in (${days}) partition by range (${column})`,
      }
      yield {
        name: `${parent}_rest`,
        definition: `partition of ${parent} default with (fillfactor = ${fillfactor})`,
      }
    }
    for (let day = today - 1; used.has(days) && day <= today + DAYS_AHEAD; day++) {
      yield* partitionsOfDay(days, day)
    }
  }
}

function* partitionsOfDay(retentionClass: number, day: number): Generator<Definition> {
  const from = firstIdAt(day * DAY_MS)
  const to = firstIdAt((day + 1) * DAY_MS)
  for (const { table, fillfactor } of PARTITIONED) {
    const parent = `${table}_${retentionClass}`
    yield {
      name: `${parent}_${dayName(day)}`,
      definition: `partition of ${parent} for values from ('${from}') to ('${to}') with (fillfactor = ${fillfactor})`,
    }
  }
}

async function partitionNames(db: Db): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class join pg_namespace n on n.oid = relnamespace
    where relispartition and relkind in ('r', 'p') and n.nspname = current_schema()`.execute(db)
  return new Set(rows.map((row) => row.name))
}

/** The classes whose days are worth making: an unused class costs a hundred empty tables. */
async function classesInUse(db: Db): Promise<Set<number>> {
  const { rows } = await sql<{ retentionClass: number }>`
    select distinct retention_class as "retentionClass" from organisation`.execute(db)
  return new Set(rows.map((row) => row.retentionClass))
}

function dayName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
}
