import { expect, test } from 'vitest'

import { disablesAtMs, judgeRun } from './failing.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const SINCE = Date.UTC(2026, 10, 20)

test.for<[string, { last: number; now: number; told?: number }, boolean, number[]]>([
  ['a single failure', { last: 0, now: 4 * DAY }, false, []],
  ['failures over a minute less', { last: 4 * MINUTE, now: 4 * MINUTE }, false, []],
  ['failures over 5 minutes', { last: 5 * MINUTE, now: 5 * MINUTE }, true, []],
  ['a millisecond before 50 %', { last: 2 * DAY, now: 2.5 * DAY - 1 }, true, []],
  ['50 %', { last: 2 * DAY, now: 2.5 * DAY }, true, [50]],
  ['50 % that was told', { last: 2 * DAY, now: 3 * DAY, told: 50 }, true, []],
  ['70 %', { last: 2 * DAY, now: 3.5 * DAY, told: 50 }, true, [70]],
  ['90 % after a pause of the housekeeper', { last: 2 * DAY, now: 4.5 * DAY }, true, [50, 70, 90]],
  ['5 days whose last attempt was earlier', { last: 4 * DAY, now: 6 * DAY, told: 90 }, true, []],
  ['5 days', { last: 5 * DAY, now: 5 * DAY, told: 90 }, true, [100]],
  ['5 days at once', { last: 5 * DAY, now: 5 * DAY }, true, [50, 70, 90, 100]],
])('judgeRun() of %s', ([, { last, now, told }, isFailing, percents]) => {
  const run = {
    failingSinceMs: SINCE,
    lastFailureAtMs: SINCE + last,
    told: told === undefined ? null : { sinceMs: SINCE, percent: told },
  }
  expect(judgeRun(run, SINCE + now)).toEqual({ isFailing, percents })
})

test('judgeRun() tells of a new run what it told of the one before', () => {
  const run = {
    failingSinceMs: SINCE,
    lastFailureAtMs: SINCE + 3 * DAY,
    told: { sinceMs: SINCE - DAY, percent: 90 },
  }
  expect(judgeRun(run, SINCE + 3 * DAY).percents).toEqual([50])
  expect(disablesAtMs(run)).toBe(SINCE + 5 * DAY)
})
