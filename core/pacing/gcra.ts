/*
 * The generic cell rate algorithm: all that a scope has to remember is the theoretical arrival time (TAT), the moment
 * at which its bucket is empty of spent deliveries again. The bucket holds `burst` deliveries and gives one back every
 * `intervalMs`.
 *
 * Timers are late. A delivery that goes out up to `catchUpMs` after its moment does not push back the ones behind it,
 * or a rate of 1,000 a second would run at half of it. Catching up makes a burst. To keep every second below
 * rate + 1, at most an interval is caught up; where an interval is short, above some 160 a second, the pace is slowed by as
 * much (0.6 % at most).
 */

/** State of a scope between deliveries; `{ tatMs: 0 }` is a full bucket. */
export interface PaceState {
  tatMs: number
}

export interface Pace {
  intervalMs: number
  burst: number
  /** How late a delivery may be without those behind it being late too. */
  catchUpMs: number
}

export type Taken = { allowed: true; tatMs: number } | { allowed: false; retryAtMs: number }

/** State and pace of a scope; undefined means no limit. */
export interface PacedScope {
  state: PaceState
  pace: Pace
}

export type TakenFromBoth =
  | {
      allowed: true
      organisationTatMs: number | undefined
      destinationTatMs: number | undefined
    }
  | { allowed: false; retryAtMs: number; heldBy: 'organisation' | 'destination' }

export type RateLimitPeriod = 'second' | 'minute' | 'hour' | 'day'

const PERIOD_MS: Record<RateLimitPeriod, number> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** Late timers of a process that is busy; the least is caught up whatever it costs, more would show as a burst. */
const CATCH_UP_MS = { least: 5, most: 20 }
/** Times are whole milliseconds, so two of them lie up to one more apart than they say. */
const CLOCK_GRAIN_MS = 1
/** A TAT this much past a full bucket comes from a slower limit that has been raised since. */
const FOREIGN_TAT_MS = 1_000
/** An unlimited burst under a limited mean: the mean then holds over this time. Ours. */
const UNLIMITED_BURST_MS = 60_000

/** The pace of a destination: evenly spaced, no burst. (decisions: Delivery) */
export function destinationPace(rateLimit: number, period: RateLimitPeriod): Pace {
  const perSecond = (rateLimit * 1_000) / PERIOD_MS[period]
  return { ...spacing(perSecond, perSecond + 1), burst: 1 }
}

/**
 * The pace of a plan: at most the burst in any one second, the maximum in the mean. Undefined when both are null,
 * which is unlimited. (spec: Plan pacing table)
 */
export function planPace(limits: {
  maxDeliveriesPerSecond: number | null
  burstDeliveriesPerSecond: number | null
}): Pace | undefined {
  const { maxDeliveriesPerSecond, burstDeliveriesPerSecond } = limits
  const rate = Math.min(maxDeliveriesPerSecond ?? Infinity, burstDeliveriesPerSecond ?? Infinity)
  if (rate === Infinity) return undefined
  if (burstDeliveriesPerSecond === null) {
    const burst = (rate * UNLIMITED_BURST_MS) / 1_000
    return { ...spacing(rate, rate + 1), burst }
  }
  const burst = Math.max(1, burstDeliveriesPerSecond - rate)
  return { ...spacing(rate, burstDeliveriesPerSecond - burst + 1), burst }
}

/**
 * Takes one delivery from the bucket. Pure: the caller keeps `tatMs`, or asks again at `retryAtMs` (or at once when
 * the limit changes: a state made under a slower limit never holds a faster one back for more than a second).
 */
export function take(state: PaceState, pace: Pace, nowMs: number): Taken {
  const retryAtMs = nextAtMs(state, pace, nowMs)
  return retryAtMs > nowMs
    ? { allowed: false, retryAtMs }
    : { allowed: true, tatMs: tatAfter(state, pace, nowMs) }
}

/** Takes one delivery from both scopes, or from neither: a delivery that one holds back spends nothing of the other. */
export function takeBoth(
  organisation: PacedScope | undefined,
  destination: PacedScope | undefined,
  nowMs: number,
): TakenFromBoth {
  const organisationAtMs = organisation ? nextAtMs(organisation.state, organisation.pace, nowMs) : 0
  const destinationAtMs = destination ? nextAtMs(destination.state, destination.pace, nowMs) : 0
  if (organisationAtMs > nowMs || destinationAtMs > nowMs) {
    const isOrganisation = organisationAtMs > destinationAtMs
    return {
      allowed: false,
      retryAtMs: isOrganisation ? organisationAtMs : destinationAtMs,
      heldBy: isOrganisation ? 'organisation' : 'destination',
    }
  }
  return {
    allowed: true,
    organisationTatMs: organisation && tatAfter(organisation.state, organisation.pace, nowMs),
    destinationTatMs: destination && tatAfter(destination.state, destination.pace, nowMs),
  }
}

/** When the scope lets the next delivery go; not after `nowMs` when that is now. */
function nextAtMs(state: PaceState, pace: Pace, nowMs: number): number {
  const { intervalMs, burst } = pace
  if (state.tatMs - nowMs > burst * intervalMs + FOREIGN_TAT_MS) return nowMs
  return state.tatMs - (burst - 1) * intervalMs
}

function tatAfter(state: PaceState, pace: Pace, nowMs: number): number {
  const { intervalMs, burst, catchUpMs } = pace
  // A TAT from a slower limit would hold every later delivery back: the bucket counts as just emptied.
  const latest = nowMs + (burst - 1) * intervalMs
  return Math.min(Math.max(state.tatMs, nowMs - catchUpMs), latest) + intervalMs
}

/** The spacing of a rate: as much is caught up as keeps a second's count at `most`; less than the least, stretched. */
function spacing(perSecond: number, most: number): Pick<Pace, 'intervalMs' | 'catchUpMs'> {
  const room = (most / perSecond - 1) * 1_000 - CLOCK_GRAIN_MS
  const catchUpMs = Math.min(Math.max(room, CATCH_UP_MS.least), CATCH_UP_MS.most)
  const paid = most / (1 + (catchUpMs + CLOCK_GRAIN_MS) / 1_000)
  return { intervalMs: 1_000 / Math.min(perSecond, paid), catchUpMs }
}
