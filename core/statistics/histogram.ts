/**
 * Latencies in buckets whose bounds grow by a constant factor: any two histograms add up to the histogram of all their
 * values, and a value read back is within 5 % of what was put in. (architecture: Data)
 */
const ERROR = 0.05
const GROWTH = (1 + ERROR) / (1 - ERROR)

/** What is faster counts as this: no attempt over a network is. */
const LEAST_MS = 0.1

/** Its bound lies beyond ten minutes, which no attempt may last. */
const LAST_BUCKET = 160

/** How many values fell into each bucket. */
export type Histogram = ReadonlyMap<number, number>

/** The bucket of a duration: bucket n holds what is above `LEAST_MS * GROWTH ** (n - 1)`, up to the next bound. */
export function bucketOf(ms: number): number {
  if (ms <= LEAST_MS) return 0
  return Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / LEAST_MS) / Math.log(GROWTH)))
}

export function mergeHistograms(one: Histogram, other: Histogram): Histogram {
  const merged = new Map(one)
  for (const [bucket, count] of other) merged.set(bucket, (merged.get(bucket) ?? 0) + count)
  return merged
}

/** The duration in milliseconds that this share (0..1) of the values does not exceed; null when there are none. */
export function percentile(histogram: Histogram, share: number): number | null {
  const buckets = [...histogram].toSorted(([one], [other]) => one - other)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  let left = Math.max(1, Math.ceil(share * total))
  for (const [bucket, count] of buckets) {
    left -= count
    if (left <= 0) return middleOf(bucket)
  }
  return null
}

/** The value that is as far from one bound as from the other, in relation to them. */
function middleOf(bucket: number): number {
  const ms = bucket === 0 ? LEAST_MS : (LEAST_MS * GROWTH ** bucket * 2) / (GROWTH + 1)
  return Number(ms.toPrecision(4))
}
