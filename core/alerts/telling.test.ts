import { expect, test } from 'vitest'

import { MINUTE_MS } from '../clock.ts'
import { isSameAlert, isToTell, levelsToTell, type Untold } from './telling.ts'

const NOW = 1_800_000_000_000
const NEW: Untold = {
  level: 1,
  toldLevel: 0,
  toldAtMs: null,
  isAcknowledged: false,
  mutedUntilMs: null,
}

test.for<[name: string, isTold: boolean, differs: Partial<Untold>]>([
  ['a new alert', true, {}],
  ['an alert that was told', false, { toldLevel: 1, toldAtMs: NOW }],
  ['a higher level', true, { level: 2, toldLevel: 1, toldAtMs: NOW }],
  [
    'a higher level of an acknowledged alert',
    true,
    { level: 2, toldLevel: 1, isAcknowledged: true },
  ],
  ['an alert that opened again at once', false, { toldAtMs: NOW - 29 * MINUTE_MS }],
  ['an alert that opened again after half an hour', true, { toldAtMs: NOW - 30 * MINUTE_MS }],
  ['an acknowledged alert that opened again', false, { toldAtMs: 0, isAcknowledged: true }],
  ['a muted subject', false, { mutedUntilMs: NOW + 1 }],
  ['a subject whose mute is over', true, { mutedUntilMs: NOW }],
  ['an alert that was told before the clock was set back', true, { toldAtMs: NOW + MINUTE_MS }],
])('%s is told: %s', ([, isTold, differs]) => {
  expect(isToTell({ ...NEW, ...differs }, NOW)).toBe(isTold)
})

test('each part of the way to being disabled is told, and of every other alert the present level', () => {
  expect(levelsToTell('destination.failing', 0, 90)).toEqual([50, 70, 90])
  expect(levelsToTell('destination.failing', 50, 70)).toEqual([70])
  expect(levelsToTell('quota.threshold', 0, 100)).toEqual([100])
})

test('an alert that closed less than half an hour ago opens again as the same', () => {
  expect(isSameAlert(NOW - 29 * MINUTE_MS, NOW)).toBe(true)
  expect(isSameAlert(NOW - 30 * MINUTE_MS, NOW)).toBe(false)
})
