import { DAY_MS, HOUR_MS } from '../../parts/words/spans.ts'
import { timeText } from '../../parts/words/time.tsx'
import type { Range } from '../../routes/values.ts'

/** Counts are kept by the minute for two days, and by the hour for ninety. */
const MINUTES_KEPT_MS = 2 * DAY_MS
const HOURS_KEPT_MS = 90 * DAY_MS
/** Spans above these would have more bars than can be told apart. */
const BY_MINUTE_MS = 4 * HOUR_MS
const BY_HOUR_MS = 10 * DAY_MS

/** The time that the overview is of. */
export interface Span {
  ms: number
  granularity: 'minute' | 'hour' | 'day'
  words: string
  /** Absent: it ends now, and goes on. */
  fixed?: { from: string; to: string }
}

export const SPANS: Record<Range, Span> = {
  '1h': { ms: HOUR_MS, granularity: 'minute', words: 'the last hour' },
  '24h': { ms: DAY_MS, granularity: 'hour', words: 'the last 24 hours' },
  '7d': { ms: 7 * DAY_MS, granularity: 'hour', words: 'the last 7 days' },
  '30d': { ms: 30 * DAY_MS, granularity: 'day', words: 'the last 30 days' },
}

/** The span that an address names: from one moment to another, or the newest of some length. */
export function spanOf(
  { range = '24h', from, to }: { range?: Range; from?: string; to?: string },
  nowMs = Date.now(),
): Span {
  if (from === undefined || to === undefined) return SPANS[range]
  const ms = Date.parse(to) - Date.parse(from)
  if (ms <= 0) return SPANS[range]
  const ageMs = nowMs - Date.parse(from)
  return {
    ms,
    granularity:
      ms <= BY_MINUTE_MS && ageMs <= MINUTES_KEPT_MS
        ? 'minute'
        : ms <= BY_HOUR_MS && ageMs <= HOURS_KEPT_MS
          ? 'hour'
          : 'day',
    words: `${timeText(from)} to ${timeText(to)}`,
    fixed: { from, to },
  }
}

/** As a request has it. */
export function boundsOf({ ms, fixed }: Span): { from: string; to?: string } {
  return fixed ?? { from: new Date(Date.now() - ms).toISOString() }
}

const BUCKET_MS = { minute: 60_000, hour: HOUR_MS, day: DAY_MS }

export const bucketMs = (granularity: Span['granularity']): number => BUCKET_MS[granularity]
