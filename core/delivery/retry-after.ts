const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`

/** The three forms of a date in HTTP, each of them in UTC, said or not. (RFC 9110, section 5.6.7) */
const DATES = [
  // Fri, 20 Nov 2026 09:02:00 GMT
  String.raw`[a-z]{3}, (?<day>\d\d?) (?<month>[a-z]{3}) (?<year>\d{4}) ${TIME} (?:GMT|UTC)`,
  // Friday, 20-Nov-26 09:02:00 GMT
  String.raw`[a-z]{6,9}, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) ${TIME} (?:GMT|UTC)`,
  // Fri Nov 20 09:02:00 2026
  String.raw`[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`, 'i'))

/** A proxy may write a day, and a program that waits for it looks like one that has died. */
const CLIENT_WAIT_MS_MAX = 300_000

/** The wait of a client of ours after this `Retry-After`: 0 to 5 minutes; undefined without a time to read. */
export function clientWaitMs(
  header: string | readonly string[] | undefined,
  nowMs: number = Date.now(),
): number | undefined {
  const ms = retryAfterMs([header].flat()[0] ?? '', nowMs)
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), CLIENT_WAIT_MS_MAX)
}

/** How long a `Retry-After` asks to wait, from seconds or an HTTP date; undefined when it is neither. */
export function retryAfterMs(text: string, nowMs: number): number | undefined {
  const value = text.trim()
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1_000
  for (const form of DATES) {
    const parts = form.exec(value)?.groups
    if (parts !== undefined) return msUntil(parts, nowMs)
  }
  return undefined
}

function msUntil(parts: Record<string, string>, nowMs: number): number | undefined {
  const number = (name: string): number => Number(parts[name])
  const month = MONTHS.indexOf(parts['month']?.toLowerCase() ?? '')
  const day = number('day')
  const year = parts['year']?.length === 2 ? wholeYear(number('year'), nowMs) : number('year')
  const [hour, minute, second] = [number('hour'), number('minute'), number('second')]
  const atMs = Date.UTC(year, month, day, hour, minute, second)
  // Date.UTC takes the 31st of February for the 3rd of March. A minute may have a leap second.
  const isReal = month !== -1 && new Date(Date.UTC(year, month, day)).getUTCDate() === day
  return isReal && hour < 24 && minute < 60 && second <= 60 ? atMs - nowMs : undefined
}

/** Completes a year of two digits: one more than 50 years ahead is meant to be past. */
function wholeYear(digits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % 100) + digits
  return year > now + 50 ? year - 100 : year
}
