import type { Range } from '../../routes/values.ts'

const HOUR_MS = 3_600_000

interface Span {
  ms: number
  granularity: 'minute' | 'hour' | 'day'
  words: string
}

export const SPANS: Record<Range, Span> = {
  '1h': { ms: HOUR_MS, granularity: 'minute', words: 'the last hour' },
  '24h': { ms: 24 * HOUR_MS, granularity: 'hour', words: 'the last 24 hours' },
  '7d': { ms: 7 * 24 * HOUR_MS, granularity: 'hour', words: 'the last 7 days' },
  '30d': { ms: 30 * 24 * HOUR_MS, granularity: 'day', words: 'the last 30 days' },
}

const BUCKET_MS = { minute: 60_000, hour: HOUR_MS, day: 24 * HOUR_MS }

export const bucketMs = (granularity: Span['granularity']): number => BUCKET_MS[granularity]
