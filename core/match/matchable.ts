import type { Matchable } from './filter.ts'
import { parsePayload, parseQuery } from './payload.ts'

/** What a filter looks at, of an event that is stored. */
export function matchableOf(event: {
  eventType: string | null
  headers: readonly (readonly [string, string])[]
  query: string
  contentType: string | null
  raw: Buffer
}): Matchable {
  return {
    eventType: event.eventType,
    headers: lowerHeaders(event.headers),
    query: parseQuery(event.query),
    payload: () => parsePayload(event.contentType, event.raw),
  }
}

/** Names in lower case; the values of a repeated header are joined as Node joins them. */
export function lowerHeaders(
  pairs: readonly (readonly [string, string])[],
): Record<string, string | undefined> {
  const headers = new Map<string, string>()
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase()
    const before = headers.get(lower)
    headers.set(lower, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}
