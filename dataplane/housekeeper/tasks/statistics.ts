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

/** Adds up what was counted since the last time. Any number of processes may do it at once. Whether there was something. */
export async function foldStatistics(db: Db): Promise<boolean> {
  let hasWorked = false
  for (const fold of [foldEvents, foldDeliveries]) {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const folded = await fold(db)
      hasWorked ||= folded > 0
      if (folded < FOLD_BATCH) break
    }
  }
  return hasWorked
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
