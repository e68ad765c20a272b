import { setTimeout as sleep } from 'node:timers/promises'

import type { Clock } from '../clock.ts'
import type { Db } from '../db/connection/db.ts'
import type { PurgedStep } from '../db/retention/purge.ts'
import { firstIdAt } from '../ids.ts'
import type { Plans } from '../plans/plans.ts'

/** Rows of one transaction, and the longest pause behind it: at most half of the time goes into a run. Ours. */
export const STEP_ROWS = 500
const PAUSE_MS_MAX = 250

export interface RetentionDeps {
  db: Db
  clock: Clock
  plans: Plans
  /** Ends the run between two steps; the next run goes on. */
  signal: AbortSignal
}

/** The counts of a run. Rows of dropped days are not counted: nobody reads them. */
export interface RetentionReport {
  asOf: string
  /** Deliveries that waited too long. */
  expired: number
  /** Rows that went one by one. */
  events: number
  deliveries: number
  attempts: number
  /** Events that had to stay and left a day that was to be dropped. */
  moved: number
  auditRows: number
  /** As `<class>/<day>`. */
  daysDropped: string[]
  /** Past too, but something still held them; the next run tries again. */
  daysLeft: string[]
}

/** A run under way. */
export interface Run extends RetentionDeps {
  asOfMs: number
  /** First attempts below it are finished or have a waiting row. */
  watermark: string
  organisations: readonly { id: string; retentionDays: number; projectIds: readonly string[] }[]
  report: RetentionReport
}

/** Leaves the database to others for as long as the step took, or so many times that. Throws when the run must end. */
export async function pause({ signal }: Run, stepBeganAt: number, rests = 1): Promise<void> {
  signal.throwIfAborted()
  await sleep(Math.min(PAUSE_MS_MAX, (performance.now() - stepBeganAt) * rests))
}

/** Repeats a step until it says that it was the last. */
export async function walk(
  run: Run,
  step: (afterId: string) => Promise<PurgedStep>,
  rests?: number,
): Promise<void> {
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const beganAt = performance.now()
    const { purged, lastId } = await step(afterId)
    run.report.events += purged.events
    run.report.deliveries += purged.deliveries
    run.report.attempts += purged.attempts
    afterId = lastId
    await pause(run, beganAt, rests)
  }
}
