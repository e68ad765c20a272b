import { foldUsage, USAGE_BATCH } from '../../../core/db/billing/usage.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  FOLD_BATCH,
  foldDeliveries,
  foldEvents,
  pruneRollups,
} from '../../../core/db/statistics/rollups.ts'
import {
  ROLLUP_DAYS_OF_DAYS,
  ROLLUP_DAYS_OF_HOURS,
  ROLLUP_DAYS_OF_MINUTES,
} from '../../../core/limits.ts'
import type { Granularity } from '../../../core/statistics/granularity.ts'

const DAY_MS = 86_400_000

/** Statements of one kind in a row: a backlog is worked off, and the other tasks get their turn. */
const ROUNDS_MAX = 20

const KEPT_DAYS: readonly [Granularity, days: number][] = [
  ['minute', ROLLUP_DAYS_OF_MINUTES],
  ['hour', ROLLUP_DAYS_OF_HOURS],
  ['day', ROLLUP_DAYS_OF_DAYS],
]

type Fold = (db: Db) => Promise<number>

/** Adds up the counts since the last time. Any number of processes may do it at once. Whether there was any. */
export async function foldStatistics(db: Db): Promise<boolean> {
  const events = await foldAll(db, foldEvents, FOLD_BATCH)
  const deliveries = await foldAll(db, foldDeliveries, FOLD_BATCH)
  return events || deliveries
}

/** The same with the counts that quotas and bills rest on. */
export async function foldAllUsage(db: Db): Promise<boolean> {
  return await foldAll(db, foldUsage, USAGE_BATCH)
}

/** Folds until a statement finds less than it may take. */
async function foldAll(db: Db, fold: Fold, batch: number): Promise<boolean> {
  let all = 0
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const folded = await fold(db)
    all += folded
    if (folded < batch) break
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
