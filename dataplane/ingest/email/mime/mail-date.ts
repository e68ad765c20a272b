const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `Tue, 24 Jul 2007 18:55:07 +0200`, with the older forms that RFC 5322 4.3 has, and dashes between its parts. */
const INTERNET =
  /^(?:[a-z]{3,9}\.?\s*,?\s*)?(?<day>\d{1,2})[\s-]+(?<month>[a-z]{3,9})\.?[\s-]+(?<year>\d{2,4}),?\s+(?<hour>\d{1,2})\s*:\s*(?<minute>\d{2})(?:\s*:\s*(?<second>\d{2})(?:\.\d+)?)?(?:\s*(?<zone>[+-]\d{4}|[+-]\d{2}:\d{2}|[a-z]+(?:[+-]\d{2}:?\d{2})?))?$/i

/** `Tue Jul 24 18:55:07 2007`, as C's asctime() writes it, with a zone at either side of the year. */
const ASCTIME =
  /^(?:[a-z]{3,9}\.?,?\s+)?(?<month>[a-z]{3,9})\.?\s+(?<day>\d{1,2}),?(?:\s+(?<early>\d{4}),?)?\s+(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?(?:\s+(?<before>[+-]\d{2}:?\d{2}|[a-z]+))?(?:\s+(?<year>\d{4}))?(?:\s+(?<zone>[+-]\d{2}:?\d{2}|[a-z]+))?$/i

/** `2007-07-24T18:55:07Z`: RFC 3339. */
const ISO =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})[t ](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.\d+)?)?\s*(?<zone>z|[+-]\d{2}:?\d{2})?$/i

/** Zones by their offset in hours. Other names, and single letters, say nothing of it. (RFC 5322 4.3) */
const ZONES: ReadonlyMap<string, number> = new Map([
  ['edt', -4],
  ['est', -5],
  ['cdt', -5],
  ['cst', -6],
  ['mdt', -6],
  ['mst', -7],
  ['pdt', -7],
  ['pst', -8],
])

const LENGTH_MAX = 128

/**
 * A date in ISO 8601 and UTC; undefined for a text that is no date. Without a zone, or with one that is not known, a time is one
 * of UTC, wherever this machine stands.
 */
export function readMailDate(given: string): string | undefined {
  if (given.length > LENGTH_MAX) return undefined
  const text = withoutComments(given).trim()
  const parts = (INTERNET.exec(text) ?? ASCTIME.exec(text) ?? ISO.exec(text))?.groups
  if (parts === undefined) return undefined
  const { day, month = '', hour, minute, second = '0', early, before } = parts
  const year = yearOf(parts['year'] ?? early)
  const offset = offsetOf(parts['zone'] ?? before ?? '')
  const number = /^\d/.test(month) ? Number(month) : monthOf(month)
  if (year === undefined || offset === undefined) return undefined
  const fields = [
    year,
    number - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  ] as const
  return timeOf(fields, offset)
}

type Fields = readonly [
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
]

/** A second 60 is a leap second. */
function timeOf(
  [year, month, day, hour, minute, second]: Fields,
  offset: number,
): string | undefined {
  const midnight = new Date(Date.UTC(year, month, day))
  const isDay = midnight.getUTCMonth() === month && midnight.getUTCDate() === day
  if (!isDay || hour > 23 || minute > 59 || second > 60) return undefined
  const seconds = (hour * 60 + minute - offset) * 60 + second
  return new Date(midnight.getTime() + seconds * 1_000).toISOString()
}

/** Years of two and three digits are of the last century, those below 50 of this one. (RFC 5322 4.3) */
function yearOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const year = Number(text)
  if (text.length === 4) return year >= 1900 ? year : undefined
  return text.length === 2 && year < 50 ? year + 2000 : year + 1900
}

/** 0 for a word that is no month. */
function monthOf(word: string): number {
  const name = word.toLowerCase()
  return MONTHS.indexOf(name.slice(0, 3)) + 1
}

/** Minutes before UTC; undefined for half a day, whose hours are others. */
function offsetOf(zone: string): number | undefined {
  const [, name = '', sign, hours, minutes] =
    /^([a-z]*)(?:([+-])(\d{2}):?(\d{2}))?$/i.exec(zone) ?? []
  if (/^[ap]m$/i.test(name)) return undefined
  if (sign === undefined) return (ZONES.get(name.toLowerCase()) ?? 0) * 60
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

/** Comments may lie within comments; one that is not closed is none. */
function withoutComments(text: string): string {
  const plain = text.replaceAll(/\([^()]*\)/g, ' ')
  return plain === text ? text : withoutComments(plain)
}
