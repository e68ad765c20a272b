import { readFileSync } from 'node:fs'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Wall time for every role. Nothing else in the tree reads the system's clock for a decision. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** A file that is read more often than this costs more than its answer is worth. */
const SHIFT_KEPT_MS = 1

/**
 * The system's clock. With `shiftFile`, whose text is a number of milliseconds to add, tests can move a running
 * process days ahead: retries of 28 h, retention and billing periods are then seconds of a test. It is read when the
 * time is asked for, not by a timer: a process that is busy must not be a day behind.
 */
export function openClock(shiftFile?: string): Clock {
  if (shiftFile === undefined) return { now: () => Date.now() }
  let shiftMs = 0
  let readAt = Number.NEGATIVE_INFINITY
  return {
    now() {
      if (performance.now() - readAt > SHIFT_KEPT_MS) {
        shiftMs = readShift(shiftFile)
        readAt = performance.now()
      }
      return Date.now() + shiftMs
    },
  }
}

function readShift(file: string): number {
  const shiftMs = Number(readFileSync(file, 'utf8'))
  return Number.isFinite(shiftMs) ? shiftMs : 0
}

/** RFC 3339 UTC with milliseconds. (decisions: Conventions of the API) */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
