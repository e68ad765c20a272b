import { setTimeout as sleep } from 'node:timers/promises'

import {
  listEvents,
  listSettledEvents,
  type EventFilter,
  type EventSummary,
  type EventPage as ListPage,
} from '../../core/db/events/events.ts'
import { settledBelow } from '../../core/db/events/horizon.ts'
import { cut, type PartialPage } from '../../core/db/lists/indexed-lists.ts'
import { firstIdAt, timeOfId } from '../../core/ids.ts'
import { PAGE_READ_ROWS } from '../../core/limits.ts'
import type { Deps } from '../deps.ts'
import { searchPage } from './search.ts'
import { SETTLED_AFTER_MS, STORE_DELAY_MS, type EventPage } from './settling.ts'

type PageDeps = Pick<Deps, 'db' | 'lists' | 'reads' | 'clock'> & { organisationId: string }
type Query = EventFilter & { limit: number }

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
  if (query.sortDir === 'asc') return await ascendingPage(deps, query)
  return pageOf(await listEvents(deps.lists, query, partOf(query, clock.now())), query.limit)
}

function partOf({ limit }: Query, nowMs: number): ListPage {
  return { limit, nowMs, readRows: PAGE_READ_ROWS }
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
  const isSettled = (id: string): boolean => timeOfId(id) < nowMs - SETTLED_AFTER_MS
  const old = await listEvents(lists, { ...query, untilId }, partOf(query, nowMs))
  const seenId = old.rows[query.limit]?.id ?? old.reachedId
  if (seenId !== undefined && isSettled(seenId)) return pageOf(old, query.limit)
  await sleep(STORE_DELAY_MS)
  const endsAt = performance.now() + HORIZON_WAIT_MS
  for (;;) {
    const below = await settledBelow(db)
    const page = await listSettledEvents(lists, { ...query, untilId }, partOf(query, nowMs), below)
    const { rows, reachedId } = page
    const open = rows.findIndex((row) => !row.isSettled && !isSettled(row.id))
    const isCutOpen = reachedId !== undefined && !isSettled(reachedId)
    if (open === -1 && !isCutOpen) return pageOf(page, query.limit)
    if (isCutOpen || performance.now() > endsAt) {
      const events = rows.slice(0, Math.min(open === -1 ? rows.length : open, query.limit))
      return { events, nextId: events.at(-1)?.id ?? query.afterId }
    }
    await sleep(HORIZON_POLL_MS)
  }
}
