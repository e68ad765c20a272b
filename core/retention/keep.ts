import { DAY_MS } from '../clock.ts'
import { firstIdAt } from '../ids.ts'
import { OVERDUE_CLASS, RETENTION_CLASSES } from '../limits.ts'

/** Soon after the UTC day ends: nearly all that is due then is in days that lie whole in the past. Ours. */
const RUN_AT_MS = 20 * 60_000

/** Events with a smaller id are past `days` at `asOfMs`. */
export function cutoffId(asOfMs: number, days: number): string {
  return firstIdAt(asOfMs - days * DAY_MS)
}

/** The class in which an event is safe for so many days of its age, when the present one is no more. */
export function classAbove(present: number, days: number): number {
  return RETENTION_CLASSES.find((one) => one >= days && one > present) ?? OVERDUE_CLASS
}

/** The latest moment at which a nightly run was due. */
export function lastDueMs(nowMs: number): number {
  return Math.floor((nowMs - RUN_AT_MS) / DAY_MS) * DAY_MS + RUN_AT_MS
}
