import { DAY_MS } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/connection/db.ts'
import { attemptsOf } from '../../core/db/deliveries/read/attempts.ts'
import { deliveriesOfEvent, findDelivery } from '../../core/db/deliveries/read/deliveries.ts'
import type { DeliveryFilter } from '../../core/db/deliveries/read/delivery-indexes.ts'
import { listDeliveries, type DeliveryPage } from '../../core/db/deliveries/read/delivery-lists.ts'
import { readWaiting } from '../../core/db/deliveries/read/waiting-counts.ts'
import {
  findEvent,
  hasAnyEvent,
  listEvents,
  type EventFilter,
} from '../../core/db/events/events.ts'
import { searchEvents } from '../../core/db/events/search.ts'
import { readBacklog } from '../../core/db/statistics/backlog.ts'
import { readDeliveryCounts, readEventCounts } from '../../core/db/statistics/dashboard.ts'
import { firstIdAt } from '../../core/ids.ts'
import { LIST_LIMIT_DEFAULT, PAGE_READ_ROWS } from '../../core/limits.ts'
import { bucketsOver } from '../../core/statistics/granularity.ts'
import type { Measured } from './tenants.ts'

const OLD_DAYS = 45

type Query = [name: string, run: (db: Db) => Promise<unknown>]

const NO_FILTER = { fromId: undefined, untilId: undefined, status: undefined, sourceId: undefined }
const ALL_EVENTS = {
  ...NO_FILTER,
  eventType: undefined,
  sortDir: 'desc',
  afterId: undefined,
} as const
const ALL_DELIVERIES = {
  ...NO_FILTER,
  eventId: undefined,
  connectionId: undefined,
  destinationId: undefined,
  errorCode: undefined,
  responseStatus: undefined,
  responseClass: undefined,
}
const FIRST = { sortBy: 'createdAt', sortDir: 'desc', after: undefined } as const
const ALL_COUNTS = {
  sourceId: undefined,
  destinationId: undefined,
  connectionId: undefined,
  groupBy: undefined,
  limit: 20_001,
}

/** The queries behind the API's reads, each as its route asks it. */
export async function queriesOf(pool: Pool, measured: Measured, nowMs: number): Promise<Query[]> {
  const old = await oldDelivery(pool, measured.projectId, nowMs)
  return [
    ...eventQueries(measured, nowMs),
    ...oneByOne(measured, old),
    ...deliveryQueries(measured, { nowMs, eventId: old.event_id }),
    ...statisticsQueries(measured, nowMs),
  ]
}

interface OldDelivery {
  retentionClass: number
  id: string
  event_id: string
}

async function oldDelivery(pool: Pool, projectId: string, nowMs: number): Promise<OldDelivery> {
  const { rows } = await pool.query<OldDelivery>(
    'select class as "retentionClass", id, event_id from delivery where project_id = $1 and id < $2 order by id desc limit 1',
    [projectId, firstIdAt(nowMs - OLD_DAYS * DAY_MS)],
  )
  const [row] = rows
  if (row === undefined) throw new Error('There is no past')
  return row
}

function eventQueries({ projectId, routes, rare }: Measured, nowMs: number): Query[] {
  const [, ordinary = rare] = routes
  const page = { limit: LIST_LIMIT_DEFAULT, nowMs, readRows: PAGE_READ_ROWS }
  const list = (name: string, filter: Partial<EventFilter>): Query => [
    `events ${name}`.trim(),
    (db) => listEvents(db, { ...ALL_EVENTS, projectId, ...filter }, page),
  ]
  return [
    list('', {}),
    list('ascending', { sortDir: 'asc' }),
    list('of a source', { sourceId: ordinary.sourceId }),
    list('of a source with few', { sourceId: rare.sourceId }),
    list('received', { status: 'received' }),
    list('rejected', { status: 'rejected' }),
    list('pending, of which there are none', { status: 'pending' }),
    list('of a type', { eventType: 'invoice.*' }),
    list('of a rare type (a step)', { eventType: 'refund.created' }),
    list('rejected of a source with few', { sourceId: rare.sourceId, status: 'rejected' }),
    [
      'a step of a search',
      (db) =>
        searchEvents(db, { ...ALL_EVENTS, projectId }, 'nowhere', {
          rows: 4_000,
          bytes: 4_194_304,
        }),
    ],
  ]
}

function oneByOne({ organisationId, projectId }: Measured, old: OldDelivery): Query[] {
  const reach = { organisationId, projectId }
  const event = { retentionClass: old.retentionClass, id: old.event_id }
  return [
    [`an event of ${OLD_DAYS} days ago`, (db) => findEvent(db, reach, event.id)],
    ['its deliveries', (db) => deliveriesOfEvent(db, event, 100)],
    ['a delivery', (db) => findDelivery(db, reach, old.id)],
    ['the attempts of a delivery', (db) => attemptsOf(db, [old], 100)],
    ['has-any', (db) => hasAnyEvent(db, projectId)],
    ['has-any of an empty project', (db) => hasAnyEvent(db, organisationId)],
  ]
}

function deliveryQueries(
  { projectId, routes, rare, retired, failing }: Measured,
  { nowMs, eventId }: { nowMs: number; eventId: string },
): Query[] {
  const [busy = rare, ordinary = rare] = routes
  const size = { limit: LIST_LIMIT_DEFAULT, nowMs, readRows: PAGE_READ_ROWS }
  const list = (
    name: string,
    filter: Partial<DeliveryFilter>,
    page: Partial<DeliveryPage> = {},
  ): Query => [
    `deliveries ${name}`.trim(),
    (db) =>
      listDeliveries(
        db,
        { ...ALL_DELIVERIES, projectId, ...filter },
        { ...FIRST, ...size, ...page },
      ),
  ]
  const failsAlways = { destinationId: failing.destinationIds[0] }
  return [
    list('', {}),
    list('ascending', {}, { sortDir: 'asc' }),
    ...['pending', 'throttled', 'succeeded', 'failed', 'cancelled'].map((status) =>
      list(status, { status }),
    ),
    list(`of an event of ${OLD_DAYS} days ago`, { eventId }),
    list('of a connection', { connectionId: busy.connectionIds[0] }),
    list('to a destination', { destinationId: ordinary.destinationIds[0] }),
    list('to a destination with few', { destinationId: rare.destinationIds[0] }),
    list('of a source', { sourceId: ordinary.sourceId }),
    list('failed, to a destination', {
      status: 'failed',
      destinationId: busy.destinationIds[0],
    }),
    list('failed, of a source', { status: 'failed', sourceId: ordinary.sourceId }),
    list('by error code', { errorCode: 'bad_response' }),
    list('by response status', { responseStatus: 500 }),
    list('by a class of response status', { responseClass: 4 }),
    list('by a rare error code, to a destination that always fails', {
      ...failsAlways,
      errorCode: 'connection_reset',
    }),
    list('of a source, to a destination', {
      sourceId: retired.sourceId,
      destinationId: busy.destinationIds[1],
    }),
    list('succeeded, to a destination that always fails', { ...failsAlways, status: 'succeeded' }),
    list('by a response status of three months ago', { responseStatus: 202 }),
    list('by next attempt', { status: 'pending' }, { sortBy: 'nextAttemptAt' }),
  ]
}

function statisticsQueries({ projectId }: Measured, nowMs: number): Query[] {
  const day = { ...ALL_COUNTS, projectId, buckets: bucketsOver('hour', nowMs - DAY_MS, nowMs) }
  const month = {
    ...day,
    buckets: bucketsOver('day', nowMs - 30 * DAY_MS, nowMs),
    groupBy: 'destination',
  } as const
  return [
    ['deliveries/stats', (db) => readWaiting(db, projectId)],
    ['backlog', (db) => readBacklog(db, projectId, day.buckets)],
    ['dashboard, events', (db) => readEventCounts(db, day)],
    ['dashboard, deliveries', (db) => readDeliveryCounts(db, day)],
    ['dashboard of 30 days by destination', (db) => readDeliveryCounts(db, month)],
  ]
}
