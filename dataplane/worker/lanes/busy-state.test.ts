import { expect, test } from 'vitest'

import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import { BusyState } from './busy-state.ts'

const NOW_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000

const SUCCEEDED = { hasSucceeded: true, busy: null }
const FAILED = { hasSucceeded: false, busy: null }

function busyUntil(untilMs: number) {
  return { hasSucceeded: false, busy: { untilMs, responseStatus: 429 } }
}

function openBusyState(window: BusyWindow | null = null) {
  const notes: (BusyWindow | null)[] = []
  return { busyState: new BusyState(window, (note) => void notes.push(note)), notes }
}

test('a busy destination is left alone until its time, then probed, then trusted more with each success', () => {
  const { busyState, notes } = openBusyState()
  expect(busyState.concurrency(32)).toBe(32)
  busyState.learn(NOW_MS, busyUntil(NOW_MS + 30_000), NOW_MS)
  expect(busyState.isLeftAlone(NOW_MS + 29_999)).toBe(true)
  // This attempt was under way when the window began.
  busyState.learn(NOW_MS + 100, SUCCEEDED, NOW_MS - 50)
  expect(busyState.isBusy).toBe(true)
  const probedMs = NOW_MS + 30_000
  expect(busyState.isLeftAlone(probedMs)).toBe(false)
  expect(busyState.concurrency(32)).toBe(1)
  const ramp = Array.from({ length: 6 }, () => {
    busyState.learn(probedMs, SUCCEEDED, probedMs)
    return busyState.concurrency(32)
  })
  expect(ramp).toEqual([2, 4, 8, 16, 32, 32])
  expect(notes).toEqual([{ sinceMs: NOW_MS, untilMs: NOW_MS + 30_000, responseStatus: 429 }, null])
})

test('a clock that is set back leaves no destination alone for longer', () => {
  const { busyState } = openBusyState({
    sinceMs: NOW_MS,
    untilMs: NOW_MS + 30_000,
    responseStatus: 502,
  })
  expect(busyState.isLeftAlone(NOW_MS)).toBe(true)
  expect(busyState.isLeftAlone(NOW_MS - HOUR_MS)).toBe(false)
  expect(busyState.concurrency(32)).toBe(1)
  busyState.learn(NOW_MS - HOUR_MS, FAILED, NOW_MS - HOUR_MS)
  expect(busyState.isBusy).toBe(false)
})

test('within the window only the success of an attempt by hand ends it, and no answer shortens it', () => {
  const { busyState, notes } = openBusyState()
  busyState.learn(NOW_MS, busyUntil(NOW_MS + HOUR_MS), NOW_MS)
  busyState.learn(NOW_MS + 10, busyUntil(NOW_MS + 1_000), NOW_MS)
  expect(busyState.untilMs).toBe(NOW_MS + HOUR_MS)
  busyState.learn(NOW_MS + 60, FAILED, NOW_MS + 50)
  expect(busyState.isLeftAlone(NOW_MS + 60)).toBe(true)
  busyState.learn(NOW_MS + 80, SUCCEEDED, NOW_MS + 70)
  expect(busyState.isBusy).toBe(false)
  expect(busyState.concurrency(32)).toBe(2)
  expect(notes.at(-1)).toBeNull()
})

test('a destination that became another has no window and its whole concurrency', () => {
  const { busyState } = openBusyState()
  busyState.learn(NOW_MS, busyUntil(NOW_MS + HOUR_MS), NOW_MS)
  busyState.end()
  expect(busyState.isLeftAlone(NOW_MS + 1)).toBe(false)
  expect(busyState.concurrency(32)).toBe(32)
})
