import fc from 'fast-check'
import { expect, test } from 'vitest'

import { bucketOf, Histogram, type ListedBuckets } from './histogram.ts'

/** From a tenth of a millisecond to the longest that an attempt may last, and a good deal beyond. */
const latency = fc.double({ min: 0.1, max: 300_000, noNaN: true })
const latencies = fc.array(latency, { maxLength: 200 })

const SHARES = [0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1]

test('a histogram added up from parts, in any order, equals the histogram of all values', () => {
  fc.assert(
    fc.property(fc.array(latencies, { maxLength: 4 }), fc.boolean(), (parts, isCounted) => {
      const all = shownBy(histogramOf(parts.flat()))
      const lists = parts.map((part) => listOf(part, isCounted))
      expect(shownBy(addedUp(lists))).toEqual(all)
      expect(shownBy(addedUp(lists.toReversed()))).toEqual(all)
    }),
  )
})

test('a histogram that is cleared has no values', () => {
  const histogram = histogramOf([5])
  histogram.clear()
  expect(histogram.percentile(0.5)).toBeNull()
  histogram.add(bucketOf(70), 1)
  expect(shownBy(histogram)).toEqual(shownBy(histogramOf([70])))
})

test('a percentile is within 5 % of the value at its rank', () => {
  const some = fc.array(latency, { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(some, fc.constantFrom(0, 0.5, 0.95, 0.99, 1), (values, share) => {
      const rank = Math.max(1, Math.ceil(share * values.length))
      const exact = values.toSorted((one, other) => one - other)[rank - 1] ?? 0
      const found = histogramOf(values).percentile(share) ?? 0
      // Four digits are shown, which may round away from the bound.
      expect(Math.abs(found - exact) / exact).toBeLessThanOrEqual(0.0505)
    }),
  )
})

test('no values have no percentile', () => {
  expect(new Histogram().percentile(0.5)).toBeNull()
})

test.for([
  [0, 0.1],
  [0.05, 0.1],
  [0.1, 0.1],
])('%d ms counts as %d ms', ([ms = 0, shown = 0]) => {
  expect(histogramOf([ms]).percentile(0.5)).toBe(shown)
})

test('a duration beyond every bound is in the last bucket, which fits a smallint', () => {
  expect(bucketOf(Number.MAX_VALUE)).toBe(bucketOf(3_600_000))
  expect(bucketOf(Number.MAX_VALUE)).toBeLessThan(32_768)
})

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.add(bucketOf(value), 1)
  return histogram
}

/** As PostgreSQL writes them: buckets with their counts, or one for each value. */
function listOf(values: readonly number[], isCounted: boolean): ListedBuckets {
  const buckets = values.map(bucketOf)
  if (!isCounted) return { buckets: written(buckets), counts: null }
  const counts = Map.groupBy(buckets, (bucket) => bucket)
  return {
    buckets: written([...counts.keys()]),
    counts: written([...counts.values()].map((same) => same.length)),
  }
}

function written(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}

function addedUp(lists: readonly ListedBuckets[]): Histogram {
  const whole = new Histogram()
  for (const list of lists) whole.addListed(list)
  return whole
}

function shownBy(histogram: Histogram): (number | null)[] {
  return SHARES.map((share) => histogram.percentile(share))
}
