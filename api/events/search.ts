import { setTimeout as sleep } from 'node:timers/promises'

import { timestamp } from '../../core/clock.ts'
import type { EventFilter, EventSummary } from '../../core/db/events/events.ts'
import { settledBelow } from '../../core/db/events/horizon.ts'
import { firstUnsettledId, namedEvents, searchEvents } from '../../core/db/events/search.ts'
import { decodeId, firstIdAt, timeOfId } from '../../core/ids.ts'
import type { Deps } from '../deps.ts'
import { SETTLED_AFTER_MS, STORE_DELAY_MS, type EventPage } from './settling.ts'

type Query = EventFilter & { limit: number }

/** A search answers within a second: no step begins that would probably end later than this. (decisions: search) */
export const PAGE_BUDGET_MS = 850

/** Limits of one statement of a search: small enough to stop in time, with bodies of any size. */
const STEP = { rows: 4_000, bytes: 4 * 1024 * 1024 }

/** Every event is behind the first in descending order, or the second in ascending. */
const START = { desc: 'ffffffff-ffff-ffff-ffff-ffffffffffff', asc: firstIdAt(0) }

const WHOLE_KEY = /^[0-9a-f]{64}$/

/**
 * Reads events in order, step by step, until the page or the time budget is full. An event whose whole id or idempotency
 * key is the term is found by index and stands on the first page, however old it is.
 */
export async function searchPage(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  term: string,
  query: Query,
): Promise<EventPage> {
  const beganAt = performance.now()
  const named = await namedBy(db, term, query)
  const shown = query.afterId === undefined ? named : []
  const room = query.limit - shown.length
  const isNamed = new Set(named.map(({ id }) => id))
  const bounded = query.sortDir === 'asc' ? await beforeHorizon(db, clock.now(), query) : query
  const found: EventSummary[] = []
  let afterId = query.afterId ?? START[query.sortDir]
  let searchedId: string | undefined
  let isLast = false
  for (let stepMs = 0; !isLast && found.length <= room;) {
    const stepBeganAt = performance.now()
    if (stepBeganAt + stepMs > beganAt + PAGE_BUDGET_MS) break
    const next = await searchEvents(db, { ...bounded, afterId }, term, STEP)
    found.push(...next.found.filter(({ id }) => !isNamed.has(id)))
    searchedId = next.searchedId ?? searchedId
    afterId = searchedId ?? afterId
    isLast = next.isLast
    stepMs = performance.now() - stepBeganAt
  }
  const hasMore = found.length > room
  const lastFound = room > 0 ? found[room - 1]?.id : (query.afterId ?? START[query.sortDir])
  const nextId = hasMore ? lastFound : isLast ? undefined : afterId
  const reachedId = hasMore ? (found[room - 1]?.id ?? found[0]?.id) : searchedId
  return {
    events: inOrder([...shown, ...found.slice(0, room)], query.sortDir),
    nextId,
    search: {
      isTruncated: !hasMore && !isLast,
      searchedThrough: timestamp(reachedId === undefined ? clock.now() : timeOfId(reachedId)),
    },
  }
}

/** More than a page of them are left to the search. */
async function namedBy(db: Deps['db'], term: string, query: Query): Promise<EventSummary[]> {
  const text = term.toLowerCase()
  const id = decodeId('evt', text)
  const key = WHOLE_KEY.test(text) ? text : undefined
  if (id === undefined && key === undefined) return []
  const found = await namedEvents(db, { ...query, afterId: undefined }, { id, key })
  return found.length > query.limit ? [] : found
}

/** In ascending order nothing is shown behind what may still come. (decisions: Conventions of the API, "horizon") */
async function beforeHorizon(db: Deps['db'], nowMs: number, query: Query): Promise<Query> {
  await sleep(STORE_DELAY_MS)
  const fromId = firstIdAt(nowMs - SETTLED_AFTER_MS)
  const open = await firstUnsettledId(db, query, fromId, await settledBelow(db))
  const horizon = open ?? firstIdAt(nowMs + 1)
  const isBefore = query.untilId !== undefined && query.untilId < horizon
  return isBefore ? query : { ...query, untilId: horizon }
}

function inOrder(events: EventSummary[], sortDir: Query['sortDir']): EventSummary[] {
  const sorted = events.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return sortDir === 'asc' ? sorted : sorted.toReversed()
}
