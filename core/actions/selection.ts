import type { Db } from '../db/db.ts'
import {
  FRESH_MS,
  listDeliveries,
  measureDeliveries,
  type Delivery,
  type DeliveryFilter,
  type DeliveryPage,
} from '../db/deliveries.ts'
import { listEvents, measureEvents, type EventFilter, type EventSummary } from '../db/events.ts'
import { isTimeout } from '../db/failures.ts'
import { searchEvents } from '../db/search.ts'
import { withStatementTimeout } from '../db/statement-timeout.ts'
import { decodeId, firstIdAt, uuidOfBytes } from '../ids.ts'
import { MATCHED_BUDGET_MS, MATCHED_MAX } from '../limits.ts'
import type { DeliverySelection, EventSelection, Selected } from './operation.ts'

/** Rows counted by one statement. */
const MEASURE_ROWS = 10_000

/** One statement of a search: small enough to stop in time, with bodies of any size. */
const SEARCH_STEP = { rows: 4_000, bytes: 16 * 1024 * 1024 }

/** The next of what an operation is about, in the order of their ids. */
export interface Step<T> {
  found: T[]
  /** The walk goes on behind this id. */
  afterId: string | null
  isLast: boolean
}

/** Where a walk stands: in a project, behind an id. */
export interface Place {
  projectId: string
  afterId: string | null
  nowMs: number
}

export async function nextDeliveries(
  db: Db,
  selection: DeliverySelection,
  place: Place,
  limit: number,
): Promise<Step<Delivery>> {
  const filter = deliveryFilter(selection, place)
  const rows = await listDeliveries(db, filter, deliveryPage(place, limit))
  const found = rows.slice(0, limit)
  return { found, afterId: found.at(-1)?.id ?? place.afterId, isLast: rows.length <= limit }
}

export async function nextEvents(
  db: Db,
  selection: EventSelection,
  place: Place,
  limit: number,
): Promise<Step<EventSummary>> {
  const filter = eventFilter(selection, place)
  const term = searchTerm(selection)
  if (term === undefined) {
    const rows = await listEvents(db, filter, limit)
    const found = rows.slice(0, limit)
    return { found, afterId: found.at(-1)?.id ?? place.afterId, isLast: rows.length <= limit }
  }
  const searched = await searchEvents(db, filter, term, SEARCH_STEP)
  const found = searched.found.slice(0, limit)
  if (found.length < searched.found.length) {
    return { found, afterId: found.at(-1)?.id ?? place.afterId, isLast: false }
  }
  return { found, afterId: searched.searchedId ?? place.afterId, isLast: searched.isLast }
}

/**
 * How many are selected now: exact, unless there are more than `MATCHED_MAX` or counting takes longer than its budget;
 * then at least so many. (decisions: Resources, Bulk)
 */
export async function countSelected(
  db: Db,
  selected: Selected,
  { projectId, nowMs }: { projectId: string; nowMs: number },
): Promise<{ matched: number; isTruncated: boolean }> {
  const endsAt = performance.now() + MATCHED_BUDGET_MS
  let matched = 0
  let afterId: string | null = null
  for (;;) {
    const leftMs = endsAt - performance.now()
    if (leftMs <= 0) return { matched, isTruncated: true }
    const place: Place = { projectId, nowMs, afterId }
    const step = await measureWithin(db, selected, place, leftMs)
    if (step === undefined) return { matched, isTruncated: true }
    matched += step.count
    afterId = step.afterId
    if (matched > MATCHED_MAX) return { matched: MATCHED_MAX, isTruncated: true }
    if (step.isLast) return { matched, isTruncated: false }
  }
}

interface Measured {
  count: number
  afterId: string | null
  isLast: boolean
}

/** Undefined when the time is up. */
async function measureWithin(
  db: Db,
  selected: Selected,
  place: Place,
  leftMs: number,
): Promise<Measured | undefined> {
  try {
    return await db.transaction().execute(async (tx) => {
      await withStatementTimeout(tx, leftMs)
      return await measure(tx, selected, place)
    })
  } catch (error) {
    if (isTimeout(error)) return undefined
    throw error
  }
}

async function measure(tx: Db, { kind, selection }: Selected, place: Place): Promise<Measured> {
  if (kind !== 'replay') {
    const page = deliveryPage(place, MEASURE_ROWS)
    return asMeasured(await measureDeliveries(tx, deliveryFilter(selection, place), page), place)
  }
  const filter = eventFilter(selection, place)
  const term = searchTerm(selection)
  if (term === undefined) return asMeasured(await measureEvents(tx, filter, MEASURE_ROWS), place)
  const { found, searchedId, isLast } = await searchEvents(tx, filter, term, SEARCH_STEP)
  return { count: found.length, afterId: searchedId ?? place.afterId, isLast }
}

function asMeasured(
  { count, lastId }: { count: number; lastId: string | null },
  place: Place,
): Measured {
  return { count, afterId: lastId ?? place.afterId, isLast: count <= MEASURE_ROWS }
}

function deliveryFilter(selection: DeliverySelection, { projectId }: Place): DeliveryFilter {
  return {
    projectId,
    status: selection.status,
    eventId: selection.eventId,
    connectionId: selection.connectionId,
    destinationId: selection.destinationId,
    sourceId: selection.sourceId,
    errorCode: selection.errorCode,
    responseStatus: selection.responseStatus,
    responseClass: selection.responseClass,
    ...boundsOf(selection),
  }
}

function deliveryPage({ afterId, nowMs }: Place, limit: number): DeliveryPage {
  return {
    limit,
    sortBy: 'createdAt',
    sortDir: 'asc',
    after: afterId === null ? undefined : { nextAt: null, id: afterId },
    freshFromId: firstIdAt(nowMs - FRESH_MS),
  }
}

function eventFilter(selection: EventSelection, { projectId, afterId }: Place): EventFilter {
  const bounds = boundsOf(selection)
  const named = namedEvent(selection)
  return {
    projectId,
    sourceId: selection.sourceId,
    status: selection.status,
    ...(named === undefined ? bounds : boundsWithin(bounds, named)),
    sortDir: 'asc',
    afterId: afterId ?? undefined,
  }
}

/** A whole id names one event: no search is needed. */
function namedEvent({ search }: EventSelection): string | undefined {
  return search === undefined ? undefined : decodeId('evt', search.toLowerCase())
}

function searchTerm(selection: EventSelection): string | undefined {
  return namedEvent(selection) === undefined ? selection.search : undefined
}

interface Bounds {
  fromId: string | undefined
  untilId: string
}

/** Of one id, if it lies inside. */
function boundsWithin({ fromId, untilId }: Bounds, id: string): Bounds {
  const isInside = id < untilId && (fromId === undefined || id >= fromId)
  return { fromId: id, untilId: isInside ? idAfter(id) : id }
}

function idAfter(id: string): string {
  const next = BigInt(`0x${id.replaceAll('-', '')}`) + 1n
  return uuidOfBytes(Buffer.from(next.toString(16).padStart(32, '0'), 'hex'))
}

/** `toMs` is included. */
function boundsOf({ fromMs, toMs }: { fromMs?: number | undefined; toMs: number }): Bounds {
  return {
    fromId: fromMs === undefined ? undefined : firstIdAt(fromMs),
    untilId: firstIdAt(toMs + 1),
  }
}
