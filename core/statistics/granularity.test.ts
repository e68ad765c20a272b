import { expect, test } from 'vitest'

import { DAY_MS } from '../clock.ts'
import { bucketsOver, countOf, fromBefore, startsOf, type Granularity } from './granularity.ts'

test.for<[granularity: Granularity, from: string, to: string, first: string, count: number]>([
  ['hour', '2026-11-20T09:00:00Z', '2026-11-20T11:00:00Z', '2026-11-20T09:00:00Z', 2],
  ['hour', '2026-11-20T09:59:59.999Z', '2026-11-20T11:00:00.001Z', '2026-11-20T09:00:00Z', 3],
  ['minute', '2026-11-20T09:00:30Z', '2026-11-20T09:00:31Z', '2026-11-20T09:00:00Z', 1],
  ['day', '2026-02-27T23:59:59Z', '2026-03-01T00:00:00Z', '2026-02-27T00:00:00Z', 2],
  ['day', '1969-12-31T12:00:00Z', '1970-01-01T12:00:00Z', '1969-12-31T00:00:00Z', 2],
])('%s buckets over %s to %s begin at %s and are %d', ([granularity, from, to, first, count]) => {
  const buckets = bucketsOver(granularity, Date.parse(from), Date.parse(to))
  const starts = startsOf(buckets)
  expect(starts[0]).toBe(Date.parse(first))
  expect(starts).toHaveLength(count)
  expect(countOf(buckets)).toBe(count)
})

test('a default range is a day, or as many buckets as may be', () => {
  const toMs = Date.parse('2026-11-20T09:30:30Z')
  const most = { ms: DAY_MS, buckets: 1_000 }
  expect(fromBefore('hour', toMs, most)).toBe(toMs - DAY_MS)
  const fromMs = fromBefore('minute', toMs, most)
  expect(countOf(bucketsOver('minute', fromMs, toMs))).toBe(1_000)
})
