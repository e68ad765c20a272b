import { expect, test } from 'vitest'

import { Busyness } from './busyness.ts'

const NOW_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000

test('a busy destination is left alone until its time, then probed, then trusted more with each success', () => {
  const busyness = new Busyness()
  expect(busyness.concurrency(32)).toBe(32)
  busyness.begin(NOW_MS, NOW_MS + 30_000)
  expect(busyness.isLeftAlone(NOW_MS + 29_999)).toBe(true)
  // What was under way when it began.
  busyness.relax(NOW_MS + 100)
  expect(busyness.isBusy).toBe(true)
  const probedMs = NOW_MS + 30_000
  expect(busyness.isLeftAlone(probedMs)).toBe(false)
  expect(busyness.concurrency(32)).toBe(1)
  const ramp = Array.from({ length: 6 }, () => {
    busyness.relax(probedMs)
    return busyness.concurrency(32)
  })
  expect(ramp).toEqual([2, 4, 8, 16, 32, 32])
})

test('a clock that is set back leaves no destination alone for longer', () => {
  const busyness = new Busyness()
  busyness.begin(NOW_MS, NOW_MS + 30_000)
  expect(busyness.isLeftAlone(NOW_MS - HOUR_MS)).toBe(false)
  expect(busyness.concurrency(32)).toBe(1)
  busyness.relax(NOW_MS - HOUR_MS)
  expect(busyness.isBusy).toBe(false)
})
