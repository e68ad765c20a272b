import { sql, type RawBuilder } from 'kysely'

import { DAY_MS } from '../../../clock.ts'
import { firstIdAt, timeOfId } from '../../../ids.ts'
import { conditionsOf, type IndexedList } from '../../lists/indexed-lists.ts'
import { isEqual, type Equal } from '../../lists/ordered.ts'
import { ofParent } from '../../lists/parent-filter.ts'

export interface DeliveryFilter {
  projectId: string
  status: string | undefined
  eventId: string | undefined
  connectionId: string | undefined
  destinationId: string | undefined
  sourceId: string | undefined
  errorCode: string | undefined
  responseStatus: number | undefined
  /** The first digit of the response status. */
  responseClass: number | undefined
  /** Bounds of the id: from the first, before the second. */
  fromId: string | undefined
  untilId: string | undefined
}

/** Where an event is stored. */
export interface EventPlace {
  retentionClass: number
  id: string
}

/** As an `IndexedList`, in another order than that of the ids. */
export interface TimedList {
  table: RawBuilder<unknown>
  prefix: Equal[]
  isTimed: RawBuilder<unknown>
  others: RawBuilder<unknown>[]
}

type Equals = IndexedList['equals']

/** First attempts begin at once and leave no waiting row: one ends within its lease or has one by then. Several leases. */
const FRESH_MS = 60_000

/** A claimed row's time is the worker's lease. */
const IS_TIMED = sql`t.next_at is not null and t.claimed_by is null`

/** Indexes by what became of a delivery. */
const OUTCOMES = [
  ['project', 'response'],
  ['project', 'responseClass'],
  ['project', 'error'],
  ['project', 'status'],
]

const LISTED = sql`t.class as "retentionClass", t.delivery_id as id`
const LISTED_ID = sql`t.delivery_id`

/**
 * The indexed lists that a list of deliveries is merged from. Deliveries come from the small tables of what waits or failed wherever the
 * filter allows it; every index of those tables is a candidate, except the project-wide one. (docs: query plans)
 */
export function listsOf(filter: DeliveryFilter, nowMs: number): IndexedList[] {
  const { status, errorCode, responseStatus } = filter
  const responseClass = filter.responseClass ?? (responseStatus && Math.floor(responseStatus / 100))
  switch (status) {
    case 'pending':
      // Before its first attempt nothing has come of it.
      return errorCode === undefined && responseClass === undefined
        ? [waiting(filter), fresh(filter, nowMs)]
        : [waiting(filter)]
    case 'throttled':
    case 'in_flight':
      return [waiting(filter)]
    case 'failed':
    case 'cancelled':
      return [failed(filter)]
    case undefined: {
      const isFailure =
        errorCode !== undefined || (responseClass !== undefined && responseClass !== 2)
      return isFailure ? [failed(filter), waiting(filter)] : [stored(filter)]
    }
    default:
      return [stored(filter)]
  }
}

/** Waiting deliveries in the order of their time, by the index of project, status and time. */
export function timedList(filter: DeliveryFilter, event: EventPlace | undefined): TimedList {
  const table =
    event === undefined
      ? sql`delivery_waiting`
      : sql`(select w.* from (${deliveriesOf(event)}) d join delivery_waiting w on w.delivery_id = d.id)`
  const { project, status, ...others } = smallEquals(filter)
  return {
    table: sql`${table} t`,
    prefix: [project, status].filter((one) => one !== undefined),
    isTimed: IS_TIMED,
    others: [...Object.values(others).map(isEqual), ...conditionsOf(sql`t.delivery_id`, filter)],
  }
}

/** Behind them what has no time, in the order of the ids. */
export function untimedLists(
  filter: DeliveryFilter,
  nowMs: number,
  event: EventPlace | undefined,
): IndexedList[] {
  if (event !== undefined) {
    const isUntimed = sql`not exists (
      select from delivery_waiting w
      where w.delivery_id = t.id and w.next_at is not null and w.claimed_by is null)`
    const list = listOfEvent(filter, event)
    return [{ ...list, others: [...list.others, isUntimed] }]
  }
  const [waits, ...others] = listsOf(filter, nowMs)
  return waits === undefined ? [] : [{ ...waits, others: [sql`not (${IS_TIMED})`] }, ...others]
}

/**
 * All deliveries of one event. There are few, but to follow the order of a whole project until they come by would
 * read everything, so they are found before they are put in order.
 */
export function listOfEvent(filter: DeliveryFilter, event: EventPlace): IndexedList {
  const equals = storedEquals(filter)
  return {
    table: sql`(${deliveriesOf(event)}) t`,
    id: sql`t.id`,
    columns: sql`t.class as "retentionClass", t.id`,
    equals,
    others: [isEqual(equals.project)],
    indexes: [],
    isPartitioned: false,
  }
}

/** Deliveries have the class of their event and are not older: the other partitions are not looked at. */
export function deliveriesOf(event: EventPlace): RawBuilder<unknown> {
  const fromId = firstIdAt(timeOfId(event.id) - DAY_MS)
  return sql`select * from delivery where event_id = ${event.id}::uuid and class = ${event.retentionClass}
    and id >= ${fromId}::uuid offset 0`
}

function waiting(filter: DeliveryFilter): IndexedList {
  const equals = smallEquals(filter)
  return {
    table: sql`delivery_waiting t`,
    id: LISTED_ID,
    columns: LISTED,
    equals,
    others: [],
    indexes: indexesIn(equals, [['destination'], ...OUTCOMES]),
    isPartitioned: false,
  }
}

function failed(filter: DeliveryFilter): IndexedList {
  const equals = smallEquals(filter)
  return {
    table: sql`delivery_failed t`,
    id: LISTED_ID,
    columns: LISTED,
    equals,
    others: [],
    indexes: indexesIn(equals, [...parentsIn(equals), ...OUTCOMES]),
    isPartitioned: false,
  }
}

function stored(filter: DeliveryFilter): IndexedList {
  const equals = storedEquals(filter)
  const parents = parentsIn(equals)
  return {
    table: sql`delivery t`,
    id: sql`t.id`,
    columns: sql`t.class as "retentionClass", t.id`,
    equals,
    others: [],
    indexes: parents.length === 0 ? [['project']] : parents,
    isPartitioned: true,
  }
}

/** First attempts that may be under way. */
function fresh(filter: DeliveryFilter, nowMs: number): IndexedList {
  const list = stored(filter)
  const isUndispatched = sql`not exists (select from delivery_waiting w where w.delivery_id = t.id)`
  return {
    ...list,
    others: [isUndispatched],
    fromId: firstIdAt(nowMs - FRESH_MS),
  }
}

/** Conditions on `delivery_waiting` and `delivery_failed`, which have the same columns. */
function smallEquals(filter: DeliveryFilter): Equals {
  const { status, errorCode, responseStatus, responseClass } = filter
  const hasError = sql`t.error_code is not null`
  const hasResponse = sql`t.response_status is not null`
  return {
    ...parentEquals(filter),
    ...given('status', sql`t.status`, { type: 'text', value: status }),
    ...given('error', sql`t.error_code`, { type: 'text', value: errorCode }, hasError),
    ...given(
      'response',
      sql`t.response_status`,
      { type: 'int2', value: responseStatus },
      hasResponse,
    ),
    ...given(
      'responseClass',
      sql`t.response_status / 100`,
      { type: 'int4', value: responseClass },
      hasResponse,
    ),
  }
}

function storedEquals(filter: DeliveryFilter): Equals {
  const { status, errorCode, responseStatus, responseClass } = filter
  return {
    ...parentEquals(filter),
    ...given('status', sql`t.status`, { type: 'text', value: status }),
    ...given('error', sql`t.last_error_code`, { type: 'text', value: errorCode }),
    ...given('response', sql`t.last_response_status`, { type: 'int2', value: responseStatus }),
    ...given('responseClass', sql`t.last_response_status / 100`, {
      type: 'int4',
      value: responseClass,
    }),
  }
}

function parentEquals({
  projectId,
  connectionId,
  destinationId,
  sourceId,
}: DeliveryFilter): Equals {
  return {
    project: { column: sql`t.project_id`, value: sql`${projectId}::uuid` },
    ...(connectionId && { connection: ofParent('connection', connectionId, projectId) }),
    ...(destinationId && { destination: ofParent('destination', destinationId, projectId) }),
    ...(sourceId && { source: ofParent('source', sourceId, projectId) }),
  }
}

function given(
  name: string,
  column: RawBuilder<unknown>,
  { type, value }: { type: 'text' | 'int2' | 'int4'; value: unknown },
  predicate?: RawBuilder<unknown>,
): Record<string, Equal> {
  if (value === undefined) return {}
  const typed = sql`${value}::${sql.raw(type)}`
  return { [name]: { column, value: typed, ...(predicate && { predicate }) } }
}

/** All deliveries of a connection have its destination and source, except those from before it was changed. */
function parentsIn(equals: Equals): string[][] {
  return 'connection' in equals
    ? [['connection']]
    : indexesIn(equals, [['destination'], ['source']])
}

function indexesIn(equals: Equals, indexes: string[][]): string[][] {
  return indexes.filter((index) => index.every((name) => name in equals))
}
