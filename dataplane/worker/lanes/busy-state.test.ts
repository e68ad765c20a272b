import { expect, test } from 'vitest'

import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import { Busyness } from './busy-state.ts'

const NOW_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000

const SUCCEEDED = { hasSucceeded: true, busy: null }
const FAILED = { hasSucceeded: false, busy: null }

function busyUntil(untilMs: number) {
  return { hasSucceeded: false, busy: { untilMs, responseStatus: 429 } }
}

function openBusyness(window: BusyWindow | null = null) {
  const notes: (BusyWindow | null)[] = []
  return { busyness: new Busyness(window, (note) => void notes.push(note)), notes }
}

test('a busy destination is left alone until its time, then probed, then trusted more with each success', () => {
  const { busyness, notes } = openBusyness()
  expect(busyness.concurrency(32)).toBe(32)
  busyness.learn(NOW_MS, busyUntil(NOW_MS + 30_000), NOW_MS)
  expect(busyness.isLeftAlone(NOW_MS + 29_999)).toBe(true)
  // This attempt was under way when the window began.
  busyness.learn(NOW_MS + 100, SUCCEEDED, NOW_MS - 50)
  expect(busyness.isBusy).toBe(true)
  const probedMs = NOW_MS + 30_000
  expect(busyness.isLeftAlone(probedMs)).toBe(false)
  expect(busyness.concurrency(32)).toBe(1)
  const ramp = Array.from({ length: 6 }, () => {
    busyness.learn(probedMs, SUCCEEDED, probedMs)
    return busyness.concurrency(32)
  })
  expect(ramp).toEqual([2, 4, 8, 16, 32, 32])
  expect(notes).toEqual([{ sinceMs: NOW_MS, untilMs: NOW_MS + 30_000, responseStatus: 429 }, null])
})

test('a clock that is set back leaves no destination alone for longer', () => {
  const { busyness } = openBusyness({
    sinceMs: NOW_MS,
    untilMs: NOW_MS + 30_000,
    responseStatus: 502,
  })
  expect(busyness.isLeftAlone(NOW_MS)).toBe(true)
  expect(busyness.isLeftAlone(NOW_MS - HOUR_MS)).toBe(false)
  expect(busyness.concurrency(32)).toBe(1)
  busyness.learn(NOW_MS - HOUR_MS, FAILED, NOW_MS - HOUR_MS)
  expect(busyness.isBusy).toBe(false)
})

test('within the window only the success of an attempt by hand ends it, and no answer shortens it', () => {
  const { busyness, notes } = openBusyness()
  busyness.learn(NOW_MS, busyUntil(NOW_MS + HOUR_MS), NOW_MS)
  busyness.learn(NOW_MS + 10, busyUntil(NOW_MS + 1_000), NOW_MS)
  expect(busyness.untilMs).toBe(NOW_MS + HOUR_MS)
  busyness.learn(NOW_MS + 60, FAILED, NOW_MS + 50)
  expect(busyness.isLeftAlone(NOW_MS + 60)).toBe(true)
  busyness.learn(NOW_MS + 80, SUCCEEDED, NOW_MS + 70)
  expect(busyness.isBusy).toBe(false)
  expect(busyness.concurrency(32)).toBe(2)
  expect(notes.at(-1)).toBeNull()
})

test('a destination that became another has no window and its whole concurrency', () => {
  const { busyness } = openBusyness()
  busyness.learn(NOW_MS, busyUntil(NOW_MS + HOUR_MS), NOW_MS)
  busyness.end()
  expect(busyness.isLeftAlone(NOW_MS + 1)).toBe(false)
  expect(busyness.concurrency(32)).toBe(32)
})
