/*
 * The limit of a source or an organisation on what ingest takes: a rate per second and a burst of one second's worth.
 * Every ingest process counts for itself and hears from the others what they took (`spend`); what they took together
 * beyond the limit is a debt that is worked off, so that ten seconds hold the rate and one burst.
 */

/** State of a limit: the time at which everything taken is given back. `{ tatMs: 0 }` has taken nothing. */
export interface IngestState {
  tatMs: number
}

export type Admission =
  | { allowed: true; tatMs: number; remaining: number }
  | { allowed: false; remaining: 0; retryAfterSeconds: number }

/** Debt is forgiven past this, so that a wrong count cannot close a source for long. Ours. */
const DEBT_MS_MAX = 10_000
/**
 * Requests that other processes took count this much more: until their counts arrive, every process gives the same room
 * away again, and under a flood the sum would exceed the limit of ten seconds.
 */
const TOLD_LATE = 1.05
/** Sums of fractions of a millisecond near 2^41 are off by less than this. */
const ROUNDING_MS = 0.01

/** Whether one more request passes `perSecond` (at least 1). Pure: the caller keeps `tatMs`. (spec: Limits) */
export function admit(state: IngestState, perSecond: number, nowMs: number): Admission {
  const intervalMs = 1_000 / perSecond
  const tatMs = startOf(state, intervalMs, nowMs) + intervalMs
  const overMs = tatMs - nowMs - 1_000
  if (overMs > ROUNDING_MS) {
    return {
      allowed: false,
      remaining: 0,
      retryAfterSeconds: Math.max(1, Math.ceil((overMs - ROUNDING_MS) / 1_000)),
    }
  }
  return { allowed: true, tatMs, remaining: Math.floor((ROUNDING_MS - overMs) / intervalMs) }
}

/** The `tatMs` after other processes have taken `count` requests under the same limit. */
export function spend(
  state: IngestState,
  perSecond: number,
  taken: { count: number; nowMs: number },
): number {
  const intervalMs = 1_000 / perSecond
  const spentMs = taken.count * TOLD_LATE * intervalMs
  return Math.min(startOf(state, intervalMs, taken.nowMs) + spentMs, latestAt(taken.nowMs))
}

/** From where on the next is taken. Past the largest debt it is of before the clock was set back: then one is left. */
function startOf({ tatMs }: IngestState, intervalMs: number, nowMs: number): number {
  return tatMs > latestAt(nowMs) ? nowMs + 1_000 - intervalMs : Math.max(tatMs, nowMs)
}

function latestAt(nowMs: number): number {
  return nowMs + 1_000 + DEBT_MS_MAX
}
