import { sql } from 'kysely'
import pg from 'pg'

import { DAY_MS } from '../../clock.ts'
import { firstIdAt } from '../../ids.ts'
import { OVERDUE_CLASS, RETENTION_CLASSES } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import type { DayOfClass } from './moves.ts'

/** The order in which a day goes: a delivery decides whether it may, and an event without deliveries harms nobody. */
const TABLES = ['delivery', 'attempt', 'event'] as const

/** Partitions without a day: the DEFAULT of each class, and the class without days. */
const UNDATED = [...RETENTION_CLASSES.map((days) => `${days}_rest`), String(OVERDUE_CLASS)]

/** While the lock is waited for, everybody else waits behind: longer than a moment is given up and tried again. */
const LOCK_TIMEOUT_MS = 50

const LOCK_NOT_AVAILABLE = '55P03'

export interface PastDay extends DayOfClass {
  /** As the partitions name it: `20261120`. */
  name: string
  dayMs: number
}

/** The days that lie whole before the retention of their class, oldest first within a class. */
export async function pastDays(db: Db, asOfMs: number): Promise<PastDay[]> {
  const { rows } = await sql<{ retentionClass: number; name: string }>`
    select distinct parts[1]::int as "retentionClass", parts[2] as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    cross join lateral regexp_match(c.relname, '^(?:event|delivery|attempt)_([0-9]+)_([0-9]{8})$') as parts
    where c.relispartition and n.nspname = current_schema() and parts is not null
    order by 1, 2`.execute(db)
  return rows
    .map((row) => {
      const { name } = row
      const dayMs = Date.parse(`${name.slice(0, 4)}-${name.slice(4, 6)}-${name.slice(6)}T00:00:00Z`)
      return {
        ...row,
        dayMs,
        fromId: firstIdAt(dayMs),
        untilId: firstIdAt(dayMs + DAY_MS),
      }
    })
    .filter((day) => day.dayMs + DAY_MS + day.retentionClass * DAY_MS <= asOfMs)
}

/** The name of a day's partition of events; undefined when it was dropped by a run that did not come to its end. */
export async function eventPartition(db: Db, day: PastDay): Promise<string | undefined> {
  const name = `event_${day.retentionClass}_${day.name}`
  const { rows } = await sql<{ isThere: boolean }>`
    select to_regclass(${name}) is not null as "isThere"`.execute(db)
  return rows[0]?.isThere === true ? name : undefined
}

/**
 * Drops a day: one table at a time, so that no two locks are held at once. False when a delivery came to wait
 * meanwhile or a lock could not be had at once; what was dropped until then stays so.
 */
export async function dropDay(db: Db, day: PastDay): Promise<boolean> {
  try {
    for (const table of TABLES) {
      const isDropped = await dropTable(db, table, day)
      if (!isDropped) return false
    }
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

async function dropTable(
  db: Db,
  table: (typeof TABLES)[number],
  { retentionClass, name, fromId, untilId }: PastDay,
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(tx)
    await sql`lock table ${sql.table(`${table}_${retentionClass}`)} in access exclusive mode`.execute(
      tx,
    )
    const { rows } = await sql<{ waits: boolean }>`
      select exists (select from delivery_waiting
        where class = ${retentionClass} and delivery_id >= ${fromId}::uuid and delivery_id < ${untilId}::uuid) as waits`.execute(
      tx,
    )
    if (rows[0]?.waits === true) return false
    await sql`drop table if exists ${sql.table(`${table}_${retentionClass}_${name}`)}`.execute(tx)
    return true
  })
}

/** Deletes a step of the failures of a day's deliveries; false when there are no more. */
export async function deleteFailures(db: Db, day: DayOfClass, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from delivery_failed where delivery_id in (
      select delivery_id from delivery_failed
      where class = ${day.retentionClass} and delivery_id >= ${day.fromId}::uuid and delivery_id < ${day.untilId}::uuid
      limit ${limit})`.execute(db)
  return Number(numAffectedRows ?? 0) === limit
}

/** The partitions that are never dropped, with the class of their rows. */
export function undatedPartitions(): { partition: string; retentionClass: number }[] {
  return UNDATED.map((name) => ({
    partition: `event_${name}`,
    retentionClass: Number.parseInt(name, 10),
  }))
}
