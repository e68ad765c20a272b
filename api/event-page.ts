import { setTimeout as sleep } from 'node:timers/promises'

import { timestamp } from '../core/clock.ts'
import {
  listEvents,
  listSettledEvents,
  searchEvents,
  type EventFilter,
  type EventSummary,
} from '../core/db/events.ts'
import { decodeId, firstIdAt, timeOfId } from '../core/ids.ts'
import type { Deps } from './deps.ts'

export interface EventPage {
  events: EventSummary[]
  /** The page goes on behind this id; undefined at the end. */
  nextId: string | undefined
  search?: { isTruncated: boolean; searchedThrough: string }
}

type PageDeps = Pick<Deps, 'db' | 'clock'>
type Query = EventFilter & { limit: number }

/** The time that a search may take. (decisions: Conventions of the API) */
const SEARCH_BUDGET_MS = 1_000

/** One statement of a search: small enough to stop in time, with bodies of any size. */
const SEARCH_ROWS = 4_000
const SEARCH_BYTES = 16 * 1024 * 1024

/** From when an id is made to when its transaction begins, in an ingest process that is not stalled. */
const STORE_DELAY_MS = 25

/** Transactions of ingest are given up after 5 s; what is older than this is settled without a look. */
const SETTLED_AFTER_MS = 10_000

/** An ascending page waits this long for open transactions, then it stops before them. */
const HORIZON_WAIT_MS = 500
const HORIZON_POLL_MS = 10

/** One page of events. */
export async function findPage(
  deps: PageDeps,
  term: string | undefined,
  query: Query,
): Promise<EventPage> {
  if (term !== undefined) return await searchPage(deps, term, query)
  if (query.sortDir === 'asc') return await ascendingPage(deps, query)
  return cut(await listEvents(deps.db, query, query.limit), query.limit)
}

function cut(rows: EventSummary[], limit: number): EventPage {
  const events = rows.slice(0, limit)
  return { events, nextId: rows.length > limit ? events.at(-1)?.id : undefined }
}

/**
 * Whoever follows events in ascending order must never be shown one while another with a smaller id may still come.
 * The page ends at the request's own time, waits for what is open below it, and stops before what stays open.
 * (decisions: Conventions of the API, "horizon")
 */
async function ascendingPage({ db, clock }: PageDeps, query: Query): Promise<EventPage> {
  const nowMs = clock.now()
  const present = firstIdAt(nowMs + 1)
  const untilId = query.untilId !== undefined && query.untilId < present ? query.untilId : present
  const old = await listEvents(db, { ...query, untilId }, query.limit)
  const isSettled = (id: string): boolean => timeOfId(id) < nowMs - SETTLED_AFTER_MS
  if (old.length > query.limit && isSettled(old.at(-1)?.id ?? present)) return cut(old, query.limit)
  await sleep(STORE_DELAY_MS)
  const endsAt = performance.now() + HORIZON_WAIT_MS
  for (;;) {
    const rows = await listSettledEvents(db, { ...query, untilId }, query.limit)
    const open = rows.findIndex((row) => !row.isSettled && !isSettled(row.id))
    if (open === -1) return cut(rows, query.limit)
    if (performance.now() > endsAt) {
      const events = rows.slice(0, Math.min(open, query.limit))
      return { events, nextId: events.at(-1)?.id ?? query.afterId }
    }
    await sleep(HORIZON_POLL_MS)
  }
}

/** Reads events in order, step by step, until the page or the time budget is full. */
async function searchPage({ db, clock }: PageDeps, term: string, query: Query): Promise<EventPage> {
  const named = await eventOfId(db, term, query)
  if (named !== undefined) {
    const searchedThrough = timestamp(timeOfId(named.id))
    return { events: [named], nextId: undefined, search: { isTruncated: false, searchedThrough } }
  }
  const endsAt = performance.now() + SEARCH_BUDGET_MS
  const found: EventSummary[] = []
  let { afterId } = query
  let isLast = false
  while (!isLast && found.length <= query.limit && performance.now() < endsAt) {
    const step = { rows: SEARCH_ROWS, bytes: SEARCH_BYTES }
    const next = await searchEvents(db, { ...query, afterId }, term, step)
    found.push(...next.found)
    afterId = next.searchedId ?? afterId
    isLast = next.isLast
  }
  const page = cut(found, query.limit)
  const isTruncated = !isLast && page.nextId === undefined
  const nextId = isTruncated ? afterId : page.nextId
  const reachedMs = timeOfId(nextId ?? afterId ?? firstIdAt(clock.now()))
  return {
    events: page.events,
    nextId,
    search: { isTruncated, searchedThrough: timestamp(reachedMs) },
  }
}

/** A whole id names one event: no search is needed. */
async function eventOfId(
  db: Deps['db'],
  term: string,
  query: Query,
): Promise<EventSummary | undefined> {
  const id = decodeId('evt', term)
  if (id === undefined || query.afterId !== undefined) return undefined
  const isInside =
    (query.fromId === undefined || id >= query.fromId) &&
    (query.untilId === undefined || id < query.untilId)
  if (!isInside) return undefined
  const untilId = firstIdAt(timeOfId(id) + 1)
  const [first] = await listEvents(db, { ...query, sortDir: 'asc', fromId: id, untilId }, 1)
  return first?.id === id ? first : undefined
}
