import { readFileSync } from 'node:fs'

/** Wall time for every role. Nothing else in the tree reads the system's clock for a decision. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

const SHIFT_READ_INTERVAL_MS = 50

/**
 * The system's clock. With `shiftFile`, whose text is a number of milliseconds to add, tests can move a running
 * process days ahead: retries of 28 h, retention and billing periods are then seconds of a test.
 */
export function openClock(shiftFile?: string): Clock {
  if (shiftFile === undefined) return { now: () => Date.now() }
  let shiftMs = readShift(shiftFile)
  setInterval(() => {
    shiftMs = readShift(shiftFile)
  }, SHIFT_READ_INTERVAL_MS).unref()
  return { now: () => Date.now() + shiftMs }
}

function readShift(file: string): number {
  const shiftMs = Number(readFileSync(file, 'utf8'))
  return Number.isFinite(shiftMs) ? shiftMs : 0
}

/** RFC 3339 UTC with milliseconds. (decisions: Conventions of the API) */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
