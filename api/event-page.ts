import { setTimeout as sleep } from 'node:timers/promises'

import {
  listEvents,
  listSettledEvents,
  type EventFilter,
  type EventSummary,
} from '../core/db/events.ts'
import { settledBelow } from '../core/db/horizon.ts'
import { firstIdAt, timeOfId } from '../core/ids.ts'
import type { Deps } from './deps.ts'
import { searchPage } from './event-search.ts'
import { SETTLED_AFTER_MS, STORE_DELAY_MS, type EventPage } from './horizon.ts'

type PageDeps = Pick<Deps, 'db' | 'clock'>
type Query = EventFilter & { limit: number }

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
    const below = await settledBelow(db)
    const rows = await listSettledEvents(db, { ...query, untilId }, query.limit, below)
    const open = rows.findIndex((row) => !row.isSettled && !isSettled(row.id))
    if (open === -1) return cut(rows, query.limit)
    if (performance.now() > endsAt) {
      const events = rows.slice(0, Math.min(open, query.limit))
      return { events, nextId: events.at(-1)?.id ?? query.afterId }
    }
    await sleep(HORIZON_POLL_MS)
  }
}
