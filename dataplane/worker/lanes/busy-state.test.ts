import { expect, test } from 'vitest'

import { HOUR_MS } from '../../../core/clock.ts'
import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import { BusyState } from './busy-state.ts'

const NOW_MS = 1_800_000_000_000

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

const OFFLINE = { hasSucceeded: false, busy: null, held: 'offline' } as const
const DONE = { hasSucceeded: true, busy: null }

test('a connector that is offline is asked after 1 s, doubling to 15 s, and by one attempt', () => {
  const state = new BusyState(null, () => {
    throw new Error('It is no busy window')
  })
  let nowMs = 0
  const waits = [1, 2, 3, 4, 5, 6].map(() => {
    state.learn(nowMs, OFFLINE, nowMs)
    const waitMs = state.untilMs - nowMs
    expect(state.isLeftAlone(nowMs + waitMs - 1)).toBe(true)
    nowMs += waitMs
    expect(state.isLeftAlone(nowMs)).toBe(false)
    expect(state.concurrency(32)).toBe(1)
    return waitMs
  })
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
  expect(state.lastError).toBe('connector_offline')
  state.learn(nowMs + 1, DONE, nowMs)
  expect(state.isCutOff).toBe(false)
  expect(state.concurrency(32)).toBe(2)
})

test('attempts that were under way together when a connector went count once', () => {
  const state = new BusyState(null, () => {})
  for (let n = 0; n < 32; n++) state.learn(100 + n, OFFLINE, 90)
  expect(state.untilMs).toBe(1_100)
})

test('a connector that is offline while the clock is set back is asked at once, and after its waits again', () => {
  const state = new BusyState(null, () => {})
  state.learn(NOW_MS, OFFLINE, NOW_MS)
  const backMs = NOW_MS - HOUR_MS
  expect(state.isLeftAlone(backMs)).toBe(false)
  state.learn(backMs + 5, OFFLINE, backMs)
  expect(state.untilMs).toBe(backMs + 2_005)
  expect(state.isLeftAlone(backMs + 2_004)).toBe(true)
})

test('a connector that is online again is asked at once, and what was sent before says nothing', () => {
  const state = new BusyState(null, () => {})
  state.learn(0, OFFLINE, 0)
  state.probe(500)
  expect(state.isLeftAlone(500)).toBe(false)
  state.learn(501, OFFLINE, 499)
  expect(state.isLeftAlone(501)).toBe(false)
  expect(state.concurrency(32)).toBe(1)
})

test('a full connector is no offline one, and is asked sooner', () => {
  const state = new BusyState(null, () => {})
  state.learn(0, { hasSucceeded: false, busy: null, held: 'full' }, 0)
  expect(state.untilMs).toBe(250)
  expect(state.lastError).toBe('connector_full')
  expect(state.isCutOff).toBe(true)
})

test('a connector that is only going away is not called full', () => {
  const state = new BusyState(null, () => {})
  state.learn(0, { hasSucceeded: false, busy: null, held: 'refused' }, 0)
  expect(state.untilMs).toBe(250)
  expect(state.lastError).toBeNull()
  expect(state.isCutOff).toBe(true)
})
