import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { classOfEvent } from '../../events/events.ts'
import { behind, type Direction } from '../../lists/id-ranges.ts'
import {
  cut,
  readList,
  type Cut,
  type IndexedList,
  type PartialPage,
} from '../../lists/indexed-lists.ts'
import { readOrdered } from '../../lists/ordered.ts'
import { microsOf, timeOfMicros } from '../../lists/page.ts'
import { readDeliveries, type Delivery } from './deliveries.ts'
import {
  listOfEvent,
  listsOf,
  timedList,
  untimedLists,
  type DeliveryFilter,
  type EventPlace,
  type TimedList,
} from './delivery-indexes.ts'

export interface DeliveryPage {
  limit: number
  sortBy: 'createdAt' | 'nextAttemptAt'
  sortDir: Direction
  after: DeliveryPlace | undefined
  nowMs: number
  /** As of a walk. */
  readRows: number
}

/** Behind a delivery of a list; its time is null behind the last one that has a time, and does not count by `createdAt`. */
export interface DeliveryPlace {
  nextAtMicros: string | null
  id: string
}

interface Key {
  retentionClass: number
  id: string
}

/** A page of deliveries, and the place behind which the next one goes on; undefined at the end. */
export async function listDeliveries(
  db: Db,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<{ rows: Delivery[]; next: DeliveryPlace | undefined }> {
  const event = await eventOf(db, filter)
  if (event === null) return { rows: [], next: undefined }
  const { keys, next } =
    page.sortBy === 'createdAt'
      ? atTimes(await keysById(db, listsFor(filter, event, page), filter, page))
      : await keysByTime(db, filter, event, page)
  return { rows: await readDeliveries(db, filter, keys), next }
}

/** All that is counted of a delivery. */
export type DeliveryMark = Key & Pick<Delivery, 'destinationId' | 'connectionId' | 'status'>

/** As `listDeliveries` by their ids, for pages of thousands. */
export async function markDeliveries(
  db: Db,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<Cut<DeliveryMark>> {
  const event = await eventOf(db, filter)
  if (event === null) return { rows: [], nextId: undefined }
  const lists = listsFor(filter, event, page).map((list) => ({
    ...list,
    columns: sql`${list.columns}, t.destination_id as "destinationId", t.connection_id as "connectionId", t.status`,
  }))
  return await keysById<DeliveryMark>(db, lists, filter, page)
}

/** Null when there is no such event any more: its deliveries went with it. */
async function eventOf(
  db: Db,
  { projectId, eventId }: DeliveryFilter,
): Promise<EventPlace | undefined | null> {
  if (eventId === undefined) return undefined
  const retentionClass = await classOfEvent(db, projectId, eventId)
  return retentionClass === undefined ? null : { retentionClass, id: eventId }
}

function listsFor(
  filter: DeliveryFilter,
  event: EventPlace | undefined,
  { nowMs }: DeliveryPage,
): IndexedList[] {
  return event === undefined ? listsOf(filter, nowMs) : [listOfEvent(filter, event)]
}

async function keysById<T extends Key>(
  db: Db,
  lists: readonly IndexedList[],
  { fromId, untilId }: DeliveryFilter,
  { after, sortDir, limit, nowMs, readRows }: DeliveryPage,
): Promise<Cut<T>> {
  const whole = { fromId, untilId }
  const range = after === undefined ? whole : behind(whole, after.id, sortDir)
  const partials: PartialPage<T>[] = []
  for (const list of lists) {
    partials.push(await readList<T>(db, list, { range, dir: sortDir, limit, nowMs, readRows }))
  }
  return cut(merge(partials, sortDir), limit)
}

/** No further than the first list that was not read to its end: of the others there may be more in between. */
function merge<T extends Key>(partials: readonly PartialPage<T>[], dir: Direction): PartialPage<T> {
  const isBefore = (one: string, other: string): boolean =>
    dir === 'asc' ? one < other : one > other
  const reachedId = partials
    .map((partial) => partial.reachedId)
    .filter((id) => id !== undefined)
    .toSorted((one, other) => (isBefore(one, other) ? -1 : 1))[0]
  // A delivery that changes at the same time may be found in two tables.
  const byId = new Map(partials.flatMap(({ rows }) => rows.map((row) => [row.id, row])))
  const rows = [...byId.values()]
    .filter(({ id }) => reachedId === undefined || !isBefore(reachedId, id))
    .toSorted((one, other) => (isBefore(one.id, other.id) ? -1 : 1))
  return { rows, reachedId }
}

interface TimedPage {
  keys: Key[]
  next: DeliveryPlace | undefined
}

function atTimes({ rows, nextId }: Cut<Key>): TimedPage {
  return { keys: rows, next: nextId === undefined ? undefined : { nextAtMicros: null, id: nextId } }
}

/** First those that have a time, then the others by their ids. */
async function keysByTime(
  db: Db,
  filter: DeliveryFilter,
  event: EventPlace | undefined,
  page: DeliveryPage,
): Promise<TimedPage> {
  const { after, limit } = page
  const isBehindTimes = after?.nextAtMicros === null
  const timed = isBehindTimes ? NOTHING : await readTimed(db, timedList(filter, event), page)
  const keys = timed.found.slice(0, limit)
  const last = timed.found.length > limit ? keys.at(-1) : timed.reached
  if (last !== undefined) return { keys, next: last }
  const room = limit - keys.length
  const untimed = await keysById(db, untimedLists(filter, page.nowMs, event), filter, {
    ...page,
    limit: Math.max(1, room),
    after: isBehindTimes ? after : undefined,
  })
  if (room > 0) return { ...atTimes(untimed), keys: [...keys, ...untimed.rows] }
  const isEnd = untimed.rows.length === 0 && untimed.nextId === undefined
  return { keys, next: isEnd ? undefined : keys.at(-1) }
}

interface TimedKey extends Key {
  nextAtMicros: string
}

interface Timed {
  found: TimedKey[]
  reached: TimedKey | undefined
}

const NOTHING: Timed = { found: [], reached: undefined }

async function readTimed(
  db: Db,
  { table, prefix, isTimed, others }: TimedList,
  { after, sortDir, limit, readRows }: DeliveryPage,
): Promise<Timed> {
  const bound = after?.nextAtMicros != null && {
    values: [timeOfMicros(after.nextAtMicros), sql`${after.id}::uuid`],
    isIncluded: false,
  }
  return await readOrdered<TimedKey>(db, {
    table,
    columns: sql`t.class as "retentionClass", t.delivery_id as id, ${microsOf(sql`t.next_at`)} as "nextAtMicros"`,
    prefix,
    order: [sql`t.next_at`, sql`t.delivery_id`],
    dir: sortDir,
    ...(bound && (sortDir === 'asc' ? { low: bound } : { high: bound })),
    served: [isTimed],
    others,
    readRows,
    limit,
  })
}
