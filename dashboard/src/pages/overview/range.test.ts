import { expect, test } from 'vitest'

import { boundsOf, spanOf } from './range.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const at = (hoursAgo: number) => new Date(NOW - hoursAgo * 3_600_000).toISOString()

test('an address without two moments in order has one of the known ranges', () => {
  expect(spanOf({})).toMatchObject({ granularity: 'hour', words: 'the last 24 hours' })
  expect(spanOf({ range: '1h', from: at(1) })).toMatchObject({ words: 'the last hour' })
  expect(spanOf({ from: at(1), to: at(2) })).toMatchObject({ words: 'the last 24 hours' })
})

test.for([
  ['an hour of today', at(3), at(2), 'minute'],
  ['an hour of last week, of which no minutes are kept', at(170), at(169), 'hour'],
  ['a week', at(168), at(0), 'hour'],
  ['a month', at(720), at(0), 'day'],
  ['an hour of last spring, of which no hours are kept', at(5000), at(4999), 'day'],
] as const)('%s is counted as finely as can be read', ([, from, to, granularity]) => {
  expect(spanOf({ from, to }, NOW)).toMatchObject({ granularity, fixed: { from, to } })
})

test('a span that is fixed stays where it is', () => {
  const span = spanOf({ from: at(3), to: at(2) }, NOW)
  expect(boundsOf(span)).toEqual({ from: at(3), to: at(2) })
  expect(boundsOf(spanOf({}))).toEqual({ from: expect.any(String) })
})
