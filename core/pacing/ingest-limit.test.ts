import fc from 'fast-check'
import { expect, test } from 'vitest'

import { admit, spend } from './ingest-limit.ts'

const START = 1_800_000_000_000
const RATES = [1, 3, 7, 50, 500, 999, 2_000, 5_000]

/** How many of `count` requests at one moment pass, and the state after them. */
function flood(perSecond: number, tatMs: number, at: { nowMs: number; count: number }) {
  let passed = 0
  let state = { tatMs }
  for (let sent = 0; sent < at.count; sent++) {
    const admission = admit(state, perSecond, at.nowMs)
    if (!admission.allowed) break
    state = { tatMs: admission.tatMs }
    passed++
  }
  return { passed, tatMs: state.tatMs }
}

test.for(RATES)('%i a second: one second’s worth at once, then the rate', (rate) => {
  const first = flood(rate, 0, { nowMs: START, count: 3 * rate })
  // Past 4,000 a second the interval is so short that its rounding shows.
  expect(Math.abs(first.passed - rate)).toBeLessThanOrEqual(rate > 4_000 ? 1 : 0)
  let { tatMs } = first
  let passed = 0
  for (let nowMs = START; nowMs < START + 10_000; nowMs += 10) {
    const next = flood(rate, tatMs, { nowMs, count: rate })
    tatMs = next.tatMs
    passed += next.passed
  }
  expect(passed).toBeLessThanOrEqual(10 * rate)
  expect(passed).toBeGreaterThanOrEqual(Math.floor(9.95 * rate))
})

test('admit() counts down what remains and says when to come back', () => {
  let state = { tatMs: 0 }
  const admissions = [1, 2, 3, 4].map(() => {
    const admission = admit(state, 3, START)
    if (admission.allowed) state = { tatMs: admission.tatMs }
    return admission
  })
  expect(admissions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0])
  expect(admissions[3]).toEqual({ allowed: false, remaining: 0, retryAfterSeconds: 1 })
  expect(admit(state, 3, START + 333)).toMatchObject({ allowed: false })
  expect(admit(state, 3, START + 334)).toMatchObject({ allowed: true, remaining: 0 })
  expect(admit(state, 3, START + 60_000)).toMatchObject({ allowed: true, remaining: 2 })
})

test('spend() leaves to nobody what other processes took, and a little more', () => {
  const tatMs = spend({ tatMs: 0 }, 50, { count: 20, nowMs: START })
  expect(flood(50, tatMs, { nowMs: START, count: 99 }).passed).toBe(29)
})

test('spend() makes a debt that is worked off, and named in retryAfterSeconds', () => {
  const tatMs = spend({ tatMs: 0 }, 50, { count: 200, nowMs: START })
  expect(admit({ tatMs }, 50, START)).toMatchObject({ allowed: false, retryAfterSeconds: 4 })
  expect(admit({ tatMs }, 50, START + 3_200)).toMatchObject({ allowed: false })
  expect(admit({ tatMs }, 50, START + 3_220)).toMatchObject({ allowed: true })
})

test('no count closes a limit for more than ten seconds', () => {
  const tatMs = spend({ tatMs: 0 }, 1, { count: 1e9, nowMs: START })
  expect(admit({ tatMs }, 1, START)).toMatchObject({ retryAfterSeconds: 11 })
  expect(admit({ tatMs }, 1, START + 11_000)).toMatchObject({ allowed: true })
})

test.for([60_000, 3_600_000, 86_400_000])(
  'a clock that is set back by %i ms leaves the rate, from an empty bucket on',
  (stepMs) => {
    let { tatMs } = flood(50, 0, { nowMs: START, count: 99 })
    const from = START - stepMs
    let passed = 0
    for (let nowMs = from; nowMs < from + 2_000; nowMs += 10) {
      const next = flood(50, tatMs, { nowMs, count: 50 })
      tatMs = next.tatMs
      passed += next.passed
    }
    expect(passed).toBeGreaterThanOrEqual(98)
    expect(passed).toBeLessThanOrEqual(101)
  },
)

test('requests that other processes took are counted after the clock was set back too', () => {
  const tatMs = spend({ tatMs: START + 1_000 }, 50, { count: 20, nowMs: START - 3_600_000 })
  expect(admit({ tatMs }, 50, START - 3_600_000)).toMatchObject({
    allowed: false,
    retryAfterSeconds: 1,
  })
})

test.for([
  [2, 500, 20],
  [3, 500, 20],
  [4, 500, 20],
  [4, 50, 1],
  [2, 2_000, 400],
] as const)('%i processes hold %i a second over ten seconds', ([processCount, rate, flooding]) => {
  const processes = Array.from({ length: processCount }, () => ({ tatMs: 0, untold: 0 }))
  const passedAt: number[] = []
  for (let nowMs = START; nowMs < START + 30_000; nowMs += 10) {
    for (const process of processes) {
      const { passed, tatMs } = flood(rate, process.tatMs, { nowMs, count: flooding })
      process.tatMs = tatMs
      process.untold += passed
      for (let n = 0; n < passed; n++) passedAt.push(nowMs)
    }
    // Every 100 ms each tells the others what it took.
    if ((nowMs - START) % 100 !== 90) continue
    const all = processes.reduce((sum, { untold }) => sum + untold, 0)
    for (const process of processes) {
      process.tatMs = spend(process, rate, { count: all - process.untold, nowMs })
    }
    for (const process of processes) process.untold = 0
  }
  for (let from = START; from <= START + 20_000; from += 1_000) {
    const inTen = passedAt.filter((at) => at >= from && at < from + 10_000).length
    expect(inTen).toBeLessThanOrEqual(rate * 11 + processCount)
    expect(inTen).toBeGreaterThanOrEqual(rate * 9)
  }
})

test('a changed limit counts from where it is', () => {
  const { tatMs } = flood(500, 0, { nowMs: START, count: 999 })
  expect(admit({ tatMs }, 5_000, START)).toMatchObject({ allowed: false })
  expect(admit({ tatMs }, 5_000, START + 1)).toMatchObject({ allowed: true })
  expect(admit({ tatMs }, 1, START + 1_000)).toMatchObject({ allowed: true })
})

test('admit() never lets more than the rate and one burst pass, whatever the times', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), gaps, (rate, waits) => {
      let nowMs = START
      let state = { tatMs: 0 }
      let passed = 0
      for (const wait of waits) {
        nowMs += wait
        const admission = admit(state, rate, nowMs)
        if (!admission.allowed) continue
        state = { tatMs: admission.tatMs }
        passed++
      }
      expect(passed).toBeLessThanOrEqual(rate + (rate * (nowMs - START)) / 1_000 + 0.01)
    }),
  )
})
