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

/** Of each bucket the value that is as far from one bound as from the other, in relation to them. */
const MIDDLES = Array.from({ length: LAST_BUCKET + 1 }, (_, bucket) => {
  const ms = bucket === 0 ? LEAST_MS : (LEAST_MS * GROWTH ** bucket * 2) / (GROWTH + 1)
  return Number(ms.toPrecision(4))
})

/** The bucket of a duration: bucket n holds what is above `LEAST_MS * GROWTH ** (n - 1)`, up to the next bound. */
export function bucketOf(ms: number): number {
  if (ms <= LEAST_MS) return 0
  return Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / LEAST_MS) / Math.log(GROWTH)))
}

/** How many values fell into each bucket. */
export class Histogram {
  /** Dense, so that to add is to index and to rank needs no sorting; absent while there are no values. */
  #counts: Float64Array | undefined
  #total = 0

  add(bucket: number, count: number): void {
    this.#counts ??= new Float64Array(LAST_BUCKET + 1)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    this.#total += count
  }

  merge(other: Histogram): void {
    const counts = other.#counts
    if (counts === undefined) return
    if (this.#counts === undefined) {
      this.#counts = counts.slice()
      this.#total = other.#total
      return
    }
    // By index: a dashboard adds up a hundred thousand buckets, and an iterator makes an object of each.
    for (let bucket = 0; bucket <= LAST_BUCKET; bucket++) {
      const count = counts[bucket] ?? 0
      if (count > 0) this.add(bucket, count)
    }
  }

  /** The duration in milliseconds that this share (0..1) of the values does not exceed; null when there are none. */
  percentile(share: number): number | null {
    const counts = this.#counts
    if (counts === undefined) return null
    let left = Math.max(1, Math.ceil(share * this.#total))
    for (let bucket = 0; bucket <= LAST_BUCKET; bucket++) {
      left -= counts[bucket] ?? 0
      if (left <= 0) return MIDDLES[bucket] ?? null
    }
    return null
  }
}
