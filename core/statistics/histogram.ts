import { NO_MORE, Numbers } from './numbers.ts'

/**
 * Latencies in buckets whose bounds grow by a constant factor: any two histograms add up to the histogram of all their
 * values, and a value read back is within 5 % of what was put in. (architecture: Data)
 */
const ERROR = 0.05
const GROWTH = (1 + ERROR) / (1 - ERROR)

/** Shorter durations count as this one: no attempt over a network is faster. */
const LEAST_MS = 0.1

/** Its bound lies beyond ten minutes, which no attempt may last. */
const LAST_BUCKET = 160

/** The middle of each bucket: its relative distance to both bounds is the same. */
const MIDDLES = Array.from({ length: LAST_BUCKET + 1 }, (_, bucket) => {
  const ms = bucket === 0 ? LEAST_MS : (LEAST_MS * GROWTH ** bucket * 2) / (GROWTH + 1)
  return Number(ms.toPrecision(4))
})

/** The bucket of a duration: bucket n holds what is above `LEAST_MS * GROWTH ** (n - 1)`, up to the next bound. */
export function bucketOf(ms: number): number {
  if (ms <= LEAST_MS) return 0
  return Math.min(LAST_BUCKET, Math.ceil(Math.log(ms / LEAST_MS) / Math.log(GROWTH)))
}

/** Buckets as PostgreSQL writes arrays, one behind the other, and how many values are in each; without counts it is one. */
export interface ListedBuckets {
  buckets: string | null
  counts: string | null
}

/** How many values fell into each bucket. */
export class Histogram {
  /** Dense, so that to add is to index and to rank needs no sorting. */
  readonly #counts = new Float64Array(LAST_BUCKET + 1)
  #total = 0

  add(bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    this.#total += count
  }

  addListed({ buckets, counts }: ListedBuckets): void {
    const inBuckets = new Numbers(buckets ?? '')
    const inCounts = new Numbers(counts ?? '')
    for (let bucket = inBuckets.next(); bucket !== NO_MORE; bucket = inBuckets.next()) {
      this.add(bucket, counts === null ? 1 : inCounts.next())
    }
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** The duration in milliseconds that this share (0..1) of the values does not exceed; null when there are none. */
  percentile(share: number): number | null {
    let left = Math.max(1, Math.ceil(share * this.#total))
    for (let bucket = 0; bucket <= LAST_BUCKET; bucket++) {
      left -= this.#counts[bucket] ?? 0
      if (left <= 0) return MIDDLES[bucket] ?? null
    }
    return null
  }
}
