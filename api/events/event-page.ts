import { setTimeout as sleep } from 'node:timers/promises'

import { timestamp } from '../../core/clock.ts'
import {
  listEvents,
  listSettledEvents,
  type EventFilter,
  type EventSummary,
  type EventPage as ListPage,
} from '../../core/db/events/events.ts'
import { settledBelow } from '../../core/db/events/horizon.ts'
import { byIndexOnly } from '../../core/db/lists/index-only.ts'
import { cut, type PartialPage } from '../../core/db/lists/indexed-lists.ts'
import { firstIdAt, timeOfId } from '../../core/ids.ts'
import { PAGE_READ_ROWS } from '../../core/limits.ts'
import type { Deps } from '../deps.ts'
import { PAGE_BUDGET_MS, searchPage } from './search.ts'
import { SETTLED_AFTER_MS, STORE_DELAY_MS, type EventPage } from './settling.ts'

type PageDeps = Pick<Deps, 'db' | 'lists' | 'reads' | 'clock'> & { organisationId: string }
type Query = EventFilter & {
  limit: number
  /** Rows that one statement looks through. */
  readRows?: number
}

/** The same where the first statement has not filled a page. */
const FURTHER_READ_ROWS = 20_000

/** An ascending page waits this long for open transactions, then it stops before them. */
const HORIZON_WAIT_MS = 500
const HORIZON_POLL_MS = 10

/** A page of events. */
export async function findPage(
  deps: PageDeps,
  term: string | undefined,
  query: Query,
): Promise<EventPage> {
  const { clock, reads, organisationId } = deps
  if (term !== undefined) {
    return await reads.run(
      organisationId,
      async (db) => await searchPage({ db, clock }, term, query),
    )
  }
  const page = await listPage(deps, query)
  // A type that is rare has no index: a page of it may lie far back.
  if (query.eventType === undefined || isDone(page, query, clock.now())) return page
  return await reads.run(
    organisationId,
    async (db) =>
      await db.transaction().execute(
        // The connections for lists are left to the lists that take no time.
        async (tx) => await byIndexOnly(tx, () => readOn({ ...deps, lists: tx }, query, page)),
      ),
  )
}

async function listPage(deps: PageDeps, query: Query): Promise<EventPage> {
  if (query.sortDir === 'asc') return await ascendingPage(deps, query)
  const { lists, clock } = deps
  return pageOf(await listEvents(lists, query, partOf(query, clock.now())), query.limit)
}

/** Reads on behind a page, step by step, until it is full or its time is up. */
async function readOn(deps: PageDeps, query: Query, first: EventPage): Promise<EventPage> {
  const beganAt = performance.now()
  const events = [...first.events]
  let { nextId } = first
  let stepMs = 0
  while (nextId !== undefined) {
    const stepBeganAt = performance.now()
    if (stepBeganAt + stepMs > beganAt + PAGE_BUDGET_MS) {
      const searchedThrough = timestamp(timeOfId(nextId))
      return { events, nextId, search: { isTruncated: true, searchedThrough } }
    }
    const limit = query.limit - events.length
    const rest = { ...query, limit, afterId: nextId, readRows: FURTHER_READ_ROWS }
    const page = await listPage(deps, rest)
    events.push(...page.events)
    nextId = page.nextId
    if (isDone(page, rest, deps.clock.now())) break
    stepMs = performance.now() - stepBeganAt
  }
  return { events, nextId }
}

/** Full, or at the end: in ascending order that is before what may still come. */
function isDone({ events, nextId }: EventPage, query: Query, nowMs: number): boolean {
  if (events.length === query.limit || nextId === undefined) return true
  return query.sortDir === 'asc' && !isSettled(nextId, nowMs)
}

function isSettled(id: string, nowMs: number): boolean {
  return timeOfId(id) < nowMs - SETTLED_AFTER_MS
}

function partOf({ limit, readRows = PAGE_READ_ROWS }: Query, nowMs: number): ListPage {
  return { limit, nowMs, readRows }
}

function pageOf(partial: PartialPage<EventSummary>, limit: number): EventPage {
  const { rows, nextId } = cut(partial, limit)
  return { events: rows, nextId }
}

/**
 * Whoever follows events in ascending order must never be shown one while another with a smaller id may still come.
 * The page ends at the request's own time, waits for what is open below it, and stops before what stays open.
 * (decisions: Conventions of the API, "horizon")
 */
async function ascendingPage({ db, lists, clock }: PageDeps, query: Query): Promise<EventPage> {
  const nowMs = clock.now()
  const present = firstIdAt(nowMs + 1)
  const untilId = query.untilId !== undefined && query.untilId < present ? query.untilId : present
  const old = await listEvents(lists, { ...query, untilId }, partOf(query, nowMs))
  const seenId = old.rows[query.limit]?.id ?? old.reachedId
  if (seenId !== undefined && isSettled(seenId, nowMs)) return pageOf(old, query.limit)
  await sleep(STORE_DELAY_MS)
  const endsAt = performance.now() + HORIZON_WAIT_MS
  for (;;) {
    const below = await settledBelow(db)
    const page = await listSettledEvents(lists, { ...query, untilId }, partOf(query, nowMs), below)
    const { rows, reachedId } = page
    const open = rows.findIndex((row) => !row.isSettled && !isSettled(row.id, nowMs))
    const isCutOpen = reachedId !== undefined && !isSettled(reachedId, nowMs)
    if (open === -1 && !isCutOpen) return pageOf(page, query.limit)
    if (isCutOpen || performance.now() > endsAt) {
      const events = rows.slice(0, Math.min(open === -1 ? rows.length : open, query.limit))
      return { events, nextId: events.at(-1)?.id ?? query.afterId }
    }
    await sleep(HORIZON_POLL_MS)
  }
}
