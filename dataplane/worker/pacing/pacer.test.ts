import { expect, test } from 'vitest'

import { HOUR_MS } from '../../../core/clock.ts'
import { Pacer } from './pacer.ts'

const START = 1_800_000_000_000
/** Ten a day: one every 2 h 24 min. */
const INTERVAL_MS = 8_640_000
const PACED = {
  id: 'destination',
  organisationId: 'organisation',
  pace: { intervalMs: INTERVAL_MS, burst: 1, catchUpMs: 0 },
  organisationPace: { intervalMs: 20, burst: 1, catchUpMs: 0 },
}

test('a clock that is set back does not make a pace wait for longer than it would have', () => {
  const pacer = new Pacer()
  expect(pacer.take(PACED, START)).toBe(START)
  const nowMs = START + 2 * HOUR_MS
  const waitMs = START + INTERVAL_MS - nowMs
  expect(pacer.capacity(PACED, nowMs, 0).nextMs - nowMs).toBe(waitMs)
  const after = nowMs - HOUR_MS
  expect(pacer.take(PACED, after) - after).toBe(waitMs)
  expect(pacer.take(PACED, after + waitMs)).toBe(after + waitMs)
})

test('a clock that is set back gives nothing away', () => {
  const pacer = new Pacer()
  expect(pacer.take(PACED, START)).toBe(START)
  const after = START - HOUR_MS
  expect(pacer.take(PACED, after) - after).toBe(INTERVAL_MS)
  // The stored pace tells the next owner the same.
  const tats = new Map(pacer.takeChanged().map(({ scopeId, tatMs }) => [scopeId, tatMs]))
  expect(tats.get('destination')).toBe(after + INTERVAL_MS)
})

test('a clock that trembles changes nothing', () => {
  const pacer = new Pacer()
  expect(pacer.take(PACED, START)).toBe(START)
  expect(pacer.take(PACED, START - 500)).toBe(START + INTERVAL_MS)
})

test('scopes at rest are dropped, those that wait are kept, and the pace is what it would be without', () => {
  const pacer = new Pacer()
  const kept = new Pacer()
  const scopes = Array.from({ length: 5_000 }, (_, n) => ({
    ...PACED,
    id: `destination ${n}`,
    organisationId: `organisation ${n}`,
    pace: { ...PACED.pace, intervalMs: n % 10 === 0 ? INTERVAL_MS : 100 },
  }))
  let nowMs = START
  for (let second = 0; second < 100; second++) {
    nowMs += 1_000
    for (const scope of scopes.slice(second * 100, second * 100 + 100)) {
      expect(pacer.take(scope, nowMs)).toBe(kept.take(scope, nowMs))
    }
    pacer.takeChanged()
  }
  expect(pacer.scopes).toBeLessThan(1_000)
  for (const scope of scopes) expect(pacer.take(scope, nowMs)).toBe(kept.take(scope, nowMs))
})

test('a scope that is still to be written is not dropped before that', () => {
  const pacer = new Pacer()
  pacer.take(PACED, START)
  const changed = pacer.takeChanged()
  pacer.putBack(changed)
  pacer.take({ ...PACED, id: 'other', organisationId: 'another' }, START + 2 * INTERVAL_MS)
  expect(pacer.takeChanged()).toEqual(expect.arrayContaining(changed))
})
