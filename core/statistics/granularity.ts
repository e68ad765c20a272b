/** The widths of time that counts are kept for. (decisions: Statistics and stream) */
export const GRANULARITIES = ['minute', 'hour', 'day'] as const

export type Granularity = (typeof GRANULARITIES)[number]

const WIDTH_MS: Record<Granularity, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** A range of time cut into buckets of one granularity, in milliseconds since the epoch. */
export interface Buckets {
  granularity: Granularity
  /** The start of the first bucket, and the end of the last. */
  fromMs: number
  toMs: number
}

/** The buckets that a range touches: from the one that holds `fromMs` to the one that ends at or after `toMs`. */
export function bucketsOver(granularity: Granularity, fromMs: number, toMs: number): Buckets {
  const width = WIDTH_MS[granularity]
  return {
    granularity,
    fromMs: Math.floor(fromMs / width) * width,
    toMs: Math.ceil(toMs / width) * width,
  }
}

export function countOf({ granularity, fromMs, toMs }: Buckets): number {
  return Math.max(0, (toMs - fromMs) / WIDTH_MS[granularity])
}

/** Where each bucket starts, in order. */
export function startsOf(buckets: Buckets): number[] {
  const width = WIDTH_MS[buckets.granularity]
  return Array.from({ length: countOf(buckets) }, (_, n) => buckets.fromMs + n * width)
}

/** The longest range before `toMs` that is no longer than this and makes no more buckets than this. */
export function fromBefore(
  granularity: Granularity,
  toMs: number,
  most: { ms: number; buckets: number },
): number {
  const width = WIDTH_MS[granularity]
  const lastEndMs = Math.ceil(toMs / width) * width
  return Math.max(toMs - most.ms, lastEndMs - most.buckets * width)
}
