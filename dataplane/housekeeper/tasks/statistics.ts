import { DAY_MS } from '../../../core/clock.ts'
import { foldUsage, USAGE_BATCH } from '../../../core/db/billing/usage.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { FOLD_BATCH, foldDeliveries, foldEvents } from '../../../core/db/statistics/folds.ts'
import {
  pruneRollups,
  ROLL_UP_BATCH,
  rollUpDeliveries,
  rollUpEvents,
} from '../../../core/db/statistics/rollups.ts'
import {
  ROLLUP_DAYS_OF_DAYS,
  ROLLUP_DAYS_OF_HOURS,
  ROLLUP_DAYS_OF_MINUTES,
} from '../../../core/limits.ts'
import type { Granularity } from '../../../core/statistics/granularity.ts'

/** Minutes are rolled up by so many at once: an hour and a day are then written once for all of them. */
const ROLL_UP_MS = 300_000
/** A minute gets most of its counts within this time after its end; the rest comes with the next roll-up. */
const COUNTED_WITHIN_MS = 30_000

/** Statements of one kind in a row: a backlog is worked off, and the other tasks get their turn. */
const ROUNDS_MAX = 20

const KEPT_DAYS: readonly [Granularity, days: number][] = [
  ['minute', ROLLUP_DAYS_OF_MINUTES],
  ['hour', ROLLUP_DAYS_OF_HOURS],
  ['day', ROLLUP_DAYS_OF_DAYS],
]

/** Adds up the counts since the last time by the minute. Any number of processes may do it at once. Whether there was any. */
export async function foldStatistics(db: Db): Promise<boolean> {
  const events = await repeat(() => foldEvents(db), FOLD_BATCH)
  const deliveries = await repeat(() => foldDeliveries(db), FOLD_BATCH)
  return events || deliveries
}

/** Moves minutes that are over to the roll-ups, five at a time; at once as well. Whether there was any. */
export async function rollUpStatistics(db: Db, nowMs: number): Promise<boolean> {
  const before = new Date(Math.floor((nowMs - COUNTED_WITHIN_MS) / ROLL_UP_MS) * ROLL_UP_MS)
  const events = await repeat(() => rollUpEvents(db, before), ROLL_UP_BATCH)
  const deliveries = await repeat(() => rollUpDeliveries(db, before), ROLL_UP_BATCH)
  return events || deliveries
}

/** The same with the counts that quotas and bills rest on. */
export async function foldAllUsage(db: Db): Promise<boolean> {
  return await repeat(() => foldUsage(db), USAGE_BATCH)
}

/** Runs a statement until it finds less than it may take. */
async function repeat(statement: () => Promise<number>, batch: number): Promise<boolean> {
  let all = 0
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const taken = await statement()
    all += taken
    if (taken < batch) break
  }
  return all > 0
}

export async function pruneStatistics(db: Db, nowMs: number): Promise<void> {
  for (const [granularity, days] of KEPT_DAYS) {
    const before = new Date(nowMs - days * DAY_MS)
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const isMore = await db.transaction().execute((tx) => pruneRollups(tx, granularity, before))
      if (!isMore) break
    }
  }
}
