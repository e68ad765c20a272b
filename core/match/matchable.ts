import { joinHeaders, type HeaderPair } from '../request/headers.ts'
import { Parsed } from '../request/parsed.ts'
import type { Matchable } from './filter.ts'

/** The parts of a request that filters read, parsed only when a filter reads them. */
export function matchableOf(request: Parsed, eventType: string | null): Matchable {
  return {
    eventType,
    get headers() {
      return request.headers
    },
    get query() {
      return request.query
    },
    payload: () => request.payload(),
  }
}

/** An event that is stored, read as ingest read it when it came. */
export function storedRequest(event: {
  headers: readonly HeaderPair[]
  query: string
  raw: Buffer
}): Parsed {
  const headers = joinHeaders(event.headers)
  return new Parsed({ headers, query: event.query, body: event.raw })
}
