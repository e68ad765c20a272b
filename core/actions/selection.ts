import type { Db } from '../db/connection/db.ts'
import { isTimeout } from '../db/connection/failures.ts'
import { withStatementTimeout } from '../db/connection/statement-timeout.ts'
import type { Delivery } from '../db/deliveries/read/deliveries.ts'
import type { DeliveryFilter } from '../db/deliveries/read/delivery-indexes.ts'
import {
  listDeliveries,
  markDeliveries,
  type DeliveryMark,
  type DeliveryPage,
} from '../db/deliveries/read/delivery-lists.ts'
import {
  listEvents,
  markEvents,
  type EventFilter,
  type EventMark,
  type EventSummary,
} from '../db/events/events.ts'
import { searchEvents } from '../db/events/search.ts'
import { byIndexOnly } from '../db/lists/index-only.ts'
import { cut, type Cut } from '../db/lists/indexed-lists.ts'
import type {
  DeliverySelection,
  EventSelection,
  Selected,
} from '../db/operations/operation-kinds.ts'
import { decodeId, firstIdAt, idAfter } from '../ids.ts'
import { MATCHED_BUDGET_MS, MATCHED_MAX } from '../limits.ts'

/** Rows counted by one statement. */
const MARKED_ROWS = 10_000

/** Rows of an index that one statement looks through for a filter that has none, of a chunk and of a count. */
const CHUNK_READ_ROWS = 20_000
const MARK_READ_ROWS = 100_000

/** Limits of one statement of a search: small enough to stop in time, with bodies of any size. */
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
  const page = deliveryPage(place, { limit, readRows: CHUNK_READ_ROWS })
  const { rows, next } = await byIndexOnly(db, () =>
    listDeliveries(db, deliveryFilter(selection, place), page),
  )
  return stepOf({ rows, nextId: next?.id }, place)
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
    const page = { limit, nowMs: place.nowMs, readRows: CHUNK_READ_ROWS }
    const partial = await byIndexOnly(db, () => listEvents(db, filter, page))
    return stepOf(cut(partial, limit), place)
  }
  const searched = await searchEvents(db, filter, term, SEARCH_STEP)
  const found = searched.found.slice(0, limit)
  if (found.length < searched.found.length) {
    return { found, afterId: found.at(-1)?.id ?? place.afterId, isLast: false }
  }
  return { found, afterId: searched.searchedId ?? place.afterId, isLast: searched.isLast }
}

function stepOf<T extends { id: string }>({ rows, nextId }: Cut<T>, place: Place): Step<T> {
  return {
    found: rows,
    afterId: nextId ?? rows.at(-1)?.id ?? place.afterId,
    isLast: nextId === undefined,
  }
}

/** Something that is counted, in the order of their ids. */
export type Mark = EventMark | DeliveryMark

/**
 * How many are selected now: exact, unless there are more than `MATCHED_MAX` or counting takes longer than its budget;
 * then at least so many. `see` is shown all that are counted. (decisions: Resources, Bulk)
 */
export async function countSelected(
  db: Db,
  selected: Selected,
  { projectId, nowMs }: { projectId: string; nowMs: number },
  see: (marks: readonly Mark[]) => void = () => undefined,
): Promise<{ matched: number; isTruncated: boolean }> {
  const endsAt = performance.now() + MATCHED_BUDGET_MS
  let matched = 0
  let afterId: string | null = null
  for (;;) {
    const leftMs = endsAt - performance.now()
    if (leftMs <= 0) return { matched, isTruncated: true }
    const place: Place = { projectId, nowMs, afterId }
    const step = await markWithin(db, selected, place, leftMs)
    if (step === undefined) return { matched, isTruncated: true }
    see(step.found.slice(0, MATCHED_MAX - matched))
    matched += step.found.length
    afterId = step.afterId
    if (matched > MATCHED_MAX) return { matched: MATCHED_MAX, isTruncated: true }
    if (step.isLast) return { matched, isTruncated: false }
  }
}

/** Undefined when the time is up. */
async function markWithin(
  db: Db,
  selected: Selected,
  place: Place,
  leftMs: number,
): Promise<Step<Mark> | undefined> {
  try {
    return await db.transaction().execute(async (tx) => {
      await withStatementTimeout(tx, leftMs)
      return await byIndexOnly(tx, () => mark(tx, selected, place))
    })
  } catch (error) {
    if (isTimeout(error)) return undefined
    throw error
  }
}

async function mark(tx: Db, { kind, selection }: Selected, place: Place): Promise<Step<Mark>> {
  const size = { limit: MARKED_ROWS, readRows: MARK_READ_ROWS }
  if (kind !== 'replay') {
    const page = deliveryPage(place, size)
    return stepOf(await markDeliveries(tx, deliveryFilter(selection, place), page), place)
  }
  const filter = eventFilter(selection, place)
  const term = searchTerm(selection)
  if (term === undefined) {
    const page = { ...size, nowMs: place.nowMs }
    return stepOf(await markEvents(tx, filter, page), place)
  }
  const { found, searchedId, isLast } = await searchEvents(tx, filter, term, SEARCH_STEP)
  return { found, afterId: searchedId ?? place.afterId, isLast }
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

function deliveryPage(
  { afterId, nowMs }: Place,
  size: Pick<DeliveryPage, 'limit' | 'readRows'>,
): DeliveryPage {
  return {
    ...size,
    sortBy: 'createdAt',
    sortDir: 'asc',
    after: afterId === null ? undefined : { nextAtMicros: null, id: afterId },
    nowMs,
  }
}

function eventFilter(selection: EventSelection, { projectId, afterId }: Place): EventFilter {
  const bounds = boundsOf(selection)
  const named = namedEvent(selection)
  return {
    projectId,
    sourceId: selection.sourceId,
    status: selection.status,
    eventType: selection.eventType,
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

/** Narrows the bounds to one id, if it lies inside. */
function boundsWithin({ fromId, untilId }: Bounds, id: string): Bounds {
  const isInside = id < untilId && (fromId === undefined || id >= fromId)
  return { fromId: id, untilId: isInside ? idAfter(id) : id }
}

/** `toMs` is included. */
function boundsOf({ fromMs, toMs }: { fromMs?: number | undefined; toMs: number }): Bounds {
  return {
    fromId: fromMs === undefined ? undefined : firstIdAt(fromMs),
    untilId: firstIdAt(toMs + 1),
  }
}
