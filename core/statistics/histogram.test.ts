import fc from 'fast-check'
import { expect, test } from 'vitest'

import { bucketOf, mergeHistograms, percentile, type Histogram } from './histogram.ts'

/** From a tenth of a millisecond to the longest that an attempt may last, and a good deal beyond. */
const latency = fc.double({ min: 0.1, max: 300_000, noNaN: true })
const latencies = fc.array(latency, { maxLength: 200 })

test('merging is associative and commutative, and an empty histogram changes nothing', () => {
  fc.assert(
    fc.property(latencies, latencies, latencies, (a, b, c) => {
      const [one, two, three] = [histogramOf(a), histogramOf(b), histogramOf(c)]
      const left = mergeHistograms(mergeHistograms(one, two), three)
      const right = mergeHistograms(one, mergeHistograms(two, three))
      expect(left).toEqual(right)
      expect(mergeHistograms(one, two)).toEqual(mergeHistograms(two, one))
      expect(mergeHistograms(one, new Map())).toEqual(one)
    }),
  )
})

test('a merged histogram is the histogram of all the values', () => {
  fc.assert(
    fc.property(latencies, latencies, (a, b) => {
      expect(mergeHistograms(histogramOf(a), histogramOf(b))).toEqual(histogramOf([...a, ...b]))
    }),
  )
})

test('a percentile is within 5 % of the value at its rank', () => {
  const some = fc.array(latency, { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(some, fc.constantFrom(0, 0.5, 0.95, 0.99, 1), (values, share) => {
      const rank = Math.max(1, Math.ceil(share * values.length))
      const exact = values.toSorted((one, other) => one - other)[rank - 1] ?? 0
      const found = percentile(histogramOf(values), share) ?? 0
      // Four digits are shown, which may round away from the bound.
      expect(Math.abs(found - exact) / exact).toBeLessThanOrEqual(0.0505)
    }),
  )
})

test('no values have no percentile', () => {
  expect(percentile(new Map(), 0.5)).toBeNull()
})

test.for([
  [0, 0.1],
  [0.05, 0.1],
  [0.1, 0.1],
])('%d ms counts as %d ms', ([ms = 0, shown = 0]) => {
  expect(percentile(histogramOf([ms]), 0.5)).toBe(shown)
})

test('what lasts beyond every bound lies in the last bucket, which fits a smallint', () => {
  expect(bucketOf(Number.MAX_VALUE)).toBe(bucketOf(3_600_000))
  expect(bucketOf(Number.MAX_VALUE)).toBeLessThan(32_768)
})

function histogramOf(values: readonly number[]): Histogram {
  return values.reduce<Histogram>(
    (histogram, value) => mergeHistograms(histogram, new Map([[bucketOf(value), 1]])),
    new Map(),
  )
}
