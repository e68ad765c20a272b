const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const RULES = [
  [1, '1 ms'],
  [10, '10 ms'],
  [100, '100 ms'],
  [SECOND, '1 s'],
  [10 * SECOND, '10 s'],
  [MINUTE, '1 min'],
  [10 * MINUTE, '10 min'],
  [HOUR, '1 h'],
  [6 * HOUR, '6 h'],
  [DAY, '1 d'],
  [7 * DAY, '7 d'],
] as const

/** Room at the right for the mark that stands on the end. */
const END = 0.96

/**
 * The place of a moment between 0 and 1. Phases of half a millisecond and retries of ten hours share the axis, so that it
 * is the logarithm of the distance from receipt.
 */
export function placeOf(ms: number, longestMs: number): number {
  return (Math.log1p(Math.max(0, ms)) / Math.log1p(Math.max(1, longestMs))) * END
}

export interface Rule {
  place: number
  label: string
}

/** Rules that lie within the axis, far enough apart to be read. */
export function rulesOf(longestMs: number, gap: number): Rule[] {
  const rules: Rule[] = []
  for (const [ms, label] of RULES) {
    const place = placeOf(ms, longestMs)
    if (ms > longestMs || place - (rules.at(-1)?.place ?? 0) < gap) continue
    rules.push({ place, label })
  }
  return rules
}

/** Moves marks apart that would cover each other, keeping their order, and back where they would leave the lane. */
export function apart(places: readonly number[], gap: number): number[] {
  const moved: number[] = []
  for (const place of places) moved.push(Math.max(place, (moved.at(-1) ?? -gap) + gap))
  let limit = 1 - gap
  for (let index = moved.length - 1; index >= 0; index--) {
    moved[index] = Math.min(moved[index] ?? 0, limit)
    limit = (moved[index] ?? 0) - gap
  }
  return moved.map((place) => Math.max(0, place))
}
