import { expect, test } from 'vitest'

import {
  destinationPace,
  type Pace,
  type PaceState,
  planPace,
  type RateLimitPeriod,
  take,
  takeBoth,
} from './gcra.ts'

const START = 1_800_000_000_000

/** A generator of numbers from 0 to 1 that is the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Takes from a backlog that never ends, woken late by `lateMs` and on whole milliseconds. Returns when each went. */
function drain(
  pace: Pace,
  from: { untilMs: number; lateMs: () => number; state?: PaceState },
): number[] {
  const state = from.state ?? { tatMs: 0 }
  const sent: number[] = []
  let nowMs = START
  while (nowMs < START + from.untilMs) {
    const taken = take(state, pace, nowMs)
    if (taken.allowed) {
      state.tatMs = taken.tatMs
      sent.push(nowMs)
    } else {
      nowMs = Math.ceil(taken.retryAtMs + from.lateMs())
    }
  }
  return sent
}

/** The most that fell into any window of this length, both ends included. */
function mostIn(sent: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  for (let last = 0; last < sent.length; last++) {
    while ((sent[last] ?? 0) - (sent[first] ?? 0) > windowMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** The fewest in any ten seconds, of those that lie whole in what was sent. */
function fewestInTenSeconds(sent: readonly number[], untilMs: number): number {
  let fewest = Infinity
  for (let from = START; from <= START + untilMs - 10_000; from += 500) {
    fewest = Math.min(fewest, sent.filter((at) => at >= from && at < from + 10_000).length)
  }
  return fewest
}

const TIMERS: Record<string, (random: () => number, rate: number) => () => number> = {
  exact: () => () => 0,
  'late by up to 2 ms': (random) => () => random() * 2,
  'late by up to 4 ms': (random) => () => random() * 4,
  'late by up to an interval, of 20 ms at most': (random, rate) => () =>
    random() * Math.max(4, Math.min(20, 1_000 / rate - 1)),
  'late by 2 ms, now and then by 15': (random) => () => (random() < 0.0002 ? 15 : random() * 2),
}

test.for(
  Object.keys(TIMERS).flatMap((timer) =>
    [1, 3, 7, 10, 50, 100, 150, 167, 200, 333, 1_000, 5_000].map((rate) => [rate, timer] as const),
  ),
)('a destination of %i a second is kept, with timers %s', ([rate, timer]) => {
  const untilMs = 30_000
  const lateMs = TIMERS[timer]?.(seeded(rate), rate) ?? (() => 0)
  const sent = drain(destinationPace(rate, 'second'), { untilMs, lateMs })
  expect(mostIn(sent, 1_000)).toBeLessThanOrEqual(rate + 1)
  expect(fewestInTenSeconds(sent, untilMs)).toBeGreaterThanOrEqual(Math.floor(rate * 9.9))
})

test.for<[limit: number, period: RateLimitPeriod, periodMs: number]>([
  [600, 'minute', 60_000],
  [7, 'minute', 60_000],
  [60_000, 'minute', 60_000],
  [3_600, 'hour', 3_600_000],
  [5, 'hour', 3_600_000],
  [24, 'day', 86_400_000],
  [1, 'day', 86_400_000],
])('a destination of %i a %s is spaced evenly over the period', ([limit, period, periodMs]) => {
  const lateMs = seeded(limit)
  const sent = drain(destinationPace(limit, period), { untilMs: 2 * periodMs, lateMs })
  expect(mostIn(sent, periodMs - 1)).toBeLessThanOrEqual(limit + 1)
  expect(mostIn(sent, 1_000)).toBeLessThanOrEqual(Math.ceil((limit * 1_000) / periodMs) + 1)
  expect(sent.length).toBeGreaterThanOrEqual(2 * limit * 0.99)
  const gaps = sent.slice(1).map((at, index) => at - (sent[index] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(Math.floor(periodMs / limit) - 21)
})

test.for([
  [10, 20],
  [50, 100],
  [200, 400],
  [5, 5],
  [1_000, 1_500],
] as const)('a plan of %i in the mean and %i in a second is kept', ([mean, burst]) => {
  const pace = planPace({ maxDeliveriesPerSecond: mean, burstDeliveriesPerSecond: burst })
  const untilMs = 30_000
  const random = seeded(mean)
  const sent = pace === undefined ? [] : drain(pace, { untilMs, lateMs: () => random() * 3 })
  expect(mostIn(sent, 999)).toBeLessThanOrEqual(burst)
  // After the first second, in which the bucket empties, a backlog runs at the mean.
  const later = sent.filter((at) => at >= START + 2_000)
  expect(mostIn(later, 1_000)).toBeLessThanOrEqual(mean + 1)
  expect(fewestInTenSeconds(sent, untilMs)).toBeGreaterThanOrEqual(Math.floor(mean * 9.9))
})

test('a plan gives its whole burst at once after a pause, and then again', () => {
  const pace = planPace({ maxDeliveriesPerSecond: 10, burstDeliveriesPerSecond: 20 })
  if (pace === undefined) throw new Error('The plan is paced')
  const state = { tatMs: 0 }
  const first = drain(pace, { untilMs: 5, lateMs: () => 0, state })
  expect(first).toHaveLength(10)
  state.tatMs -= 60_000
  expect(drain(pace, { untilMs: 5, lateMs: () => 0, state })).toHaveLength(10)
})

test.for([
  [null, null, undefined],
  [10, null, { intervalMs: 100, burst: 600, catchUpMs: 20 }],
  [10, 20, { intervalMs: 100, burst: 10, catchUpMs: 20 }],
  [null, 10, { intervalMs: expect.closeTo(100.6), burst: 1, catchUpMs: 5 }],
  [10, 5, { intervalMs: expect.closeTo(201.2), burst: 1, catchUpMs: 5 }],
] as const)('planPace() of %j in the mean and %j in a second', ([mean, burst, pace]) => {
  const limits = { maxDeliveriesPerSecond: mean, burstDeliveriesPerSecond: burst }
  expect(planPace(limits)).toEqual(pace)
})

test('take() refuses until the moment that it names, to the millisecond', () => {
  const pace = destinationPace(10, 'second')
  const first = take({ tatMs: 0 }, pace, START)
  const tatMs = first.allowed ? first.tatMs : 0
  expect(first).toEqual({ allowed: true, tatMs: START + 80 })
  expect(take({ tatMs }, pace, START + 79)).toEqual({ allowed: false, retryAtMs: START + 80 })
  expect(take({ tatMs }, pace, START + 80).allowed).toBe(true)
})

test('a raised limit takes effect on a waiting backlog at once, whatever the old one was', () => {
  for (const period of ['second', 'minute', 'hour', 'day'] as const) {
    const state = { tatMs: 0 }
    expect(
      drain(destinationPace(1, period), { untilMs: 900, lateMs: () => 0, state }),
    ).toHaveLength(1)
    const raised = destinationPace(100, 'second')
    const sent = drain(raised, { untilMs: 3_000, lateMs: () => 0, state })
    expect(sent[0]).toBeLessThanOrEqual(START + 1_000)
    expect(mostIn(sent, 1_000)).toBeLessThanOrEqual(101)
    expect(sent.filter((at) => at >= START + 2_000).length).toBeGreaterThanOrEqual(99)
  }
})

test('a lowered limit holds from its first delivery on', () => {
  const state = { tatMs: 0 }
  drain(destinationPace(1_000, 'second'), { untilMs: 1_000, lateMs: () => 0, state })
  const before = state.tatMs
  const sent = drain(destinationPace(60, 'hour'), { untilMs: 600_000, lateMs: () => 0, state })
  expect(before).toBeLessThan(START + 1_100)
  expect(sent.length).toBeLessThanOrEqual(11)
  expect(mostIn(sent, 59_000)).toBe(1)
})

test('a clock that steps back neither stops a scope nor opens it', () => {
  const pace = destinationPace(10, 'second')
  const state = { tatMs: START + 100 }
  expect(take(state, pace, START - 900)).toMatchObject({ allowed: false })
  expect(take(state, pace, START - 3_600_000)).toEqual({
    allowed: true,
    tatMs: START - 3_600_000 + 100,
  })
})

test('takeBoth() takes from both scopes or from neither', () => {
  const organisation = { state: { tatMs: 0 }, pace: { intervalMs: 100, burst: 10, catchUpMs: 5 } }
  const open = { state: { tatMs: 0 }, pace: { intervalMs: 50, burst: 1, catchUpMs: 5 } }
  const held = { state: { tatMs: START + 30 }, pace: { intervalMs: 50, burst: 1, catchUpMs: 5 } }
  expect(takeBoth(organisation, open, START)).toEqual({
    allowed: true,
    organisationTatMs: START + 95,
    destinationTatMs: START + 45,
  })
  expect(takeBoth(organisation, held, START)).toEqual({
    allowed: false,
    retryAtMs: START + 30,
    heldBy: 'destination',
  })
  const spent = { ...organisation, state: { tatMs: START + 940 } }
  expect(takeBoth(spent, held, START)).toEqual({
    allowed: false,
    retryAtMs: START + 40,
    heldBy: 'organisation',
  })
})

test('takeBoth() takes a scope without a limit for open', () => {
  const scope = { state: { tatMs: 0 }, pace: { intervalMs: 50, burst: 1, catchUpMs: 5 } }
  expect(takeBoth(undefined, undefined, START)).toEqual({
    allowed: true,
    organisationTatMs: undefined,
    destinationTatMs: undefined,
  })
  expect(takeBoth(scope, undefined, START)).toMatchObject({ organisationTatMs: START + 45 })
  expect(takeBoth(undefined, scope, START)).toMatchObject({ destinationTatMs: START + 45 })
})
