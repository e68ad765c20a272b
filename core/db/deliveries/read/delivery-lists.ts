import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { classOfEvent } from '../../events/events.ts'
import { readOrdered } from '../../lists/ordered.ts'
import { microsOf, timeOfMicros } from '../../lists/page.ts'
import { behind, type Direction } from '../../lists/spans.ts'
import { cut, readStrand, type Cut, type Strand, type Stretch } from '../../lists/strands.ts'
import { readDeliveries, type Delivery } from './deliveries.ts'
import {
  strandOfEvent,
  strandsOf,
  timedStrand,
  untimedStrands,
  type DeliveryFilter,
  type EventPlace,
  type TimedStrand,
} from './delivery-strands.ts'

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
  class: number
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
      ? atTimes(await keysById(db, strandsFor(filter, event, page), filter, page))
      : await keysByTime(db, filter, event, page)
  return { rows: await readDeliveries(db, filter, keys), next }
}

/** How many such deliveries a page has, and the id behind which the next one goes on; undefined at the end. */
export async function measureDeliveries(
  db: Db,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<{ count: number; nextId: string | undefined }> {
  const event = await eventOf(db, filter)
  if (event === null) return { count: 0, nextId: undefined }
  const { rows, nextId } = await keysById(db, strandsFor(filter, event, page), filter, page)
  return { count: rows.length, nextId }
}

/** Null when there is no such event any more: its deliveries went with it. */
async function eventOf(
  db: Db,
  { projectId, eventId }: DeliveryFilter,
): Promise<EventPlace | undefined | null> {
  if (eventId === undefined) return undefined
  const eventClass = await classOfEvent(db, projectId, eventId)
  return eventClass === undefined ? null : { class: eventClass, id: eventId }
}

function strandsFor(
  filter: DeliveryFilter,
  event: EventPlace | undefined,
  { nowMs }: DeliveryPage,
): Strand[] {
  return event === undefined ? strandsOf(filter, nowMs) : [strandOfEvent(filter, event)]
}

async function keysById(
  db: Db,
  strands: readonly Strand[],
  { fromId, untilId }: DeliveryFilter,
  { after, sortDir, limit, nowMs, readRows }: DeliveryPage,
): Promise<Cut<Key>> {
  const whole = { fromId, untilId }
  const span = after === undefined ? whole : behind(whole, after.id, sortDir)
  const stretches: Stretch<Key>[] = []
  for (const strand of strands) {
    stretches.push(
      await readStrand<Key>(db, strand, { span, dir: sortDir, limit, nowMs, readRows }),
    )
  }
  return cut(merge(stretches, sortDir), limit)
}

/** No further than the first strand that was not read to its end: of the others there may be more in between. */
function merge(stretches: readonly Stretch<Key>[], dir: Direction): Stretch<Key> {
  const isBefore = (one: string, other: string): boolean =>
    dir === 'asc' ? one < other : one > other
  const reachedId = stretches
    .map((stretch) => stretch.reachedId)
    .filter((id) => id !== undefined)
    .toSorted((one, other) => (isBefore(one, other) ? -1 : 1))[0]
  // A delivery that changes at the same time may be found in two tables.
  const byId = new Map(stretches.flatMap(({ rows }) => rows.map((row) => [row.id, row])))
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
  const timed = isBehindTimes ? NOTHING : await readTimed(db, timedStrand(filter, event), page)
  const keys = timed.found.slice(0, limit)
  const last = timed.found.length > limit ? keys.at(-1) : timed.reached
  if (last !== undefined) return { keys, next: last }
  const room = limit - keys.length
  const untimed = await keysById(db, untimedStrands(filter, page.nowMs, event), filter, {
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
  { table, prefix, isTimed, others }: TimedStrand,
  { after, sortDir, limit, readRows }: DeliveryPage,
): Promise<Timed> {
  const bound = after?.nextAtMicros != null && {
    values: [timeOfMicros(after.nextAtMicros), sql`${after.id}::uuid`],
    isIncluded: false,
  }
  return await readOrdered<TimedKey>(db, {
    table,
    columns: sql`t.class, t.delivery_id as id, ${microsOf(sql`t.next_at`)} as "nextAtMicros"`,
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
