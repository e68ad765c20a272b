import fc from 'fast-check'
import { expect, test } from 'vitest'

import { bucketOf, Histogram } from './histogram.ts'

/** From a tenth of a millisecond to the longest that an attempt may last, and a good deal beyond. */
const latency = fc.double({ min: 0.1, max: 300_000, noNaN: true })
const latencies = fc.array(latency, { maxLength: 200 })

const SHARES = [0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1]

test('what is merged, in whatever order, is the histogram of all the values', () => {
  fc.assert(
    fc.property(fc.array(latencies, { maxLength: 4 }), (parts) => {
      const all = shownBy(histogramOf(parts.flat()))
      expect(shownBy(merged(parts.map(histogramOf)))).toEqual(all)
      expect(shownBy(merged(parts.toReversed().map(histogramOf)))).toEqual(all)
    }),
  )
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

test('what lasts beyond every bound lies in the last bucket, which fits a smallint', () => {
  expect(bucketOf(Number.MAX_VALUE)).toBe(bucketOf(3_600_000))
  expect(bucketOf(Number.MAX_VALUE)).toBeLessThan(32_768)
})

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.add(bucketOf(value), 1)
  return histogram
}

function merged(parts: readonly Histogram[]): Histogram {
  const whole = new Histogram()
  for (const part of parts) whole.merge(part)
  return whole
}

function shownBy(histogram: Histogram): (number | null)[] {
  return SHARES.map((share) => histogram.percentile(share))
}
