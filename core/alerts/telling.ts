import { ALERT_REPEAT_MINUTES, FAILING_NOTICE_PERCENTS } from '../limits.ts'
import type { AlertType } from './alert-types.ts'

const REPEAT_MS = ALERT_REPEAT_MINUTES * 60_000

/** An open alert, as far as it decides whether somebody is told. Times are milliseconds since the epoch. */
export interface Untold {
  level: number
  /** Known to the organisation already; 0: it knows of none. */
  toldLevel: number
  /** When it was told of an opening last, this one or the one before. */
  toldAtMs: number | null
  isAcknowledged: boolean
  mutedUntilMs: number | null
}

/**
 * Whether an open alert is told of now. A higher level always is. An alert whose recovery was told and that has opened anew
 * waits until half an hour after the last telling, however it flaps, and for good once somebody acknowledged it. A
 * muted subject waits for the end of that. A telling that lies ahead was before the clock was set back.
 */
export function isToTell(alert: Untold, nowMs: number): boolean {
  const { level, toldLevel, toldAtMs, isAcknowledged, mutedUntilMs } = alert
  if (level <= toldLevel) return false
  if (mutedUntilMs !== null && mutedUntilMs > nowMs) return false
  if (toldLevel > 0 || toldAtMs === null) return true
  if (isAcknowledged) return false
  return toldAtMs > nowMs || nowMs - toldAtMs >= REPEAT_MS
}

/**
 * The levels to tell of, one notification each. The parts of the way to being disabled are days apart, and each is told
 * once; of any other alert the present level says it all.
 */
export function levelsToTell(type: AlertType, toldLevel: number, level: number): number[] {
  if (type !== 'destination.failing') return [level]
  return FAILING_NOTICE_PERCENTS.filter((percent) => percent > toldLevel && percent <= level)
}

/** Whether a subject that fails again takes up its last alert: those that follow soon are one that flaps. */
export function isSameAlert(closedAtMs: number, nowMs: number): boolean {
  return nowMs - closedAtMs < REPEAT_MS
}
