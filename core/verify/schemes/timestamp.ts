export type TimestampFormat = 'unix' | 'unix_ms' | 'iso8601'

/** Longer digits are beyond any date. */
const DIGITS_MAX = 16
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds, or undefined when the text is not exactly of the format: `12x`, signs and exponents are refused. */
export function parseTimestamp(text: string, format: TimestampFormat): number | undefined {
  if (format === 'iso8601') return parseRfc3339(text)
  if (!isDigits(text)) return undefined
  return format === 'unix' ? Number(text) * 1000 : Number(text)
}

/**
 * Both directions; a tolerance of 0 is not enforced. Only milliseconds are compared as such: the other formats in
 * whole seconds, as the senders' libraries do.
 */
export function isFresh(
  ms: number,
  format: TimestampFormat,
  { nowMs, toleranceSeconds }: { nowMs: number; toleranceSeconds: number },
): boolean {
  if (toleranceSeconds === 0) return true
  const ageMs = format === 'unix_ms' ? nowMs - ms : wholeSeconds(nowMs) - wholeSeconds(ms)
  return Math.abs(ageMs) <= toleranceSeconds * 1000
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}

function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > DIGITS_MAX) return false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

function parseRfc3339(text: string): number | undefined {
  const upper = text.length > 40 ? '' : text.toUpperCase()
  if (!RFC_3339.test(upper)) return undefined
  const ms = Date.parse(upper.replace(/(\.\d{3})\d+/, '$1'))
  return Number.isNaN(ms) ? undefined : ms
}
