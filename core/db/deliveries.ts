import { sql, type RawBuilder } from 'kysely'

import type { Db } from './db.ts'
import type { Reach } from './page.ts'

export interface Delivery {
  class: number
  id: string
  eventId: string | null
  connectionId: string | null
  destinationId: string
  sourceId: string | null
  projectId: string
  status: string
  trigger: string
  attemptCount: number
  maxAttempts: number
  leaseUntil: Date | null
  throttledReason: string | null
  throttledAt: Date | null
  lastError: string | null
  lastAttemptAt: Date | null
  lastResponseStatus: number | null
  lastErrorCode: string | null
  lastDurationMs: number | null
  completedAt: Date | null
  /** When it is due; null while it is parked, in a worker's hands or finished. */
  nextAt: Date | null
}

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
  responseClass?: number | undefined
  /** Bounds of the id: from the first, before the second. */
  fromId: string | undefined
  untilId: string | undefined
}

export interface DeliveryPage {
  limit: number
  sortBy: 'createdAt' | 'nextAttemptAt'
  sortDir: 'asc' | 'desc'
  /** `nextAt` is null behind the last delivery that has one. */
  after: { nextAt: Date | null; id: string } | undefined
  /** First attempts begin at once and leave no waiting row: those that may be under way have ids from here on. */
  freshFromId: string
}

/** A first attempt ends within its lease or has a waiting row by then; this is several leases. */
export const FRESH_MS = 60_000

/** Deliveries come from the small tables of what waits or failed wherever the filter allows it. */
type Driver = 'waiting' | 'failed' | 'fresh' | 'all'

/** A claimed row's time is the worker's lease. */
const NEXT_AT = sql`case when w.claimed_by is null then w.next_at end`
const D_PROJECT = sql`d.project_id`

const COLUMNS = sql`
  d.class, d.id, d.event_id as "eventId", d.connection_id as "connectionId", d.destination_id as "destinationId",
  d.source_id as "sourceId", d.project_id as "projectId", d.status, d.trigger, d.attempt_count as "attemptCount",
  d.max_attempts as "maxAttempts", d.lease_until as "leaseUntil", d.throttled_reason as "throttledReason",
  d.throttled_at as "throttledAt", d.last_error as "lastError", d.last_attempt_at as "lastAttemptAt",
  d.last_response_status as "lastResponseStatus", d.last_error_code as "lastErrorCode",
  d.last_duration_ms as "lastDurationMs", d.completed_at as "completedAt",
  ${NEXT_AT} as "nextAt"`

const NOTHING_WAITS = sql`(select null::timestamptz as next_at, null::text as claimed_by) w`

const FROM: Record<Driver, RawBuilder<unknown>> = {
  waiting: sql`delivery_waiting w join delivery d on d.class = w.class and d.id = w.delivery_id`,
  // What failed waits for nothing.
  failed: sql`delivery_failed f join delivery d on d.class = f.class and d.id = f.delivery_id
    cross join ${NOTHING_WAITS}`,
  fresh: sql`delivery d left join delivery_waiting w on w.delivery_id = d.id`,
  all: sql`delivery d left join delivery_waiting w on w.delivery_id = d.id`,
}

const KEY: Record<Driver, RawBuilder<unknown>> = {
  waiting: sql`w.delivery_id`,
  failed: sql`f.delivery_id`,
  fresh: sql`d.id`,
  all: sql`d.id`,
}

/** One row more than the page holds, to tell whether there is another. */
export async function listDeliveries(
  db: Db,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`${pageOf(filter, page)}`.execute(db)
  return rows
}

/** How many rows such a page has, the one more included, and the last one's id. */
export async function measureDeliveries(
  db: Db,
  filter: DeliveryFilter,
  page: DeliveryPage,
): Promise<{ count: number; lastId: string | null }> {
  const { rows } = await sql<{ count: number; lastId: string | null }>`
    select count(*)::int as count, (array_agg(id))[count(*)] as "lastId"
    from (${pageOf(filter, page)}) as page`.execute(db)
  return rows[0] ?? { count: 0, lastId: null }
}

function pageOf(filter: DeliveryFilter, page: DeliveryPage): RawBuilder<unknown> {
  const branches = driversOf(filter).map(
    (driver) => sql`(select ${COLUMNS} from ${fromOf(driver, filter, page)}
      where ${sql.join(conditions(driver, filter, page), sql` and `)}
      ${orderBy(page, KEY[driver], NEXT_AT)}
      limit ${page.limit + 1})`,
  )
  return sql`select * from (${sql.join(branches, sql` union all `)}) as found
    ${orderBy(page, sql`id`, sql`"nextAt"`)} limit ${page.limit + 1}`
}

/**
 * Where nothing but the small table's row decides, the page is cut from those rows before they are joined: of a
 * backlog of a hundred thousand a page is then joined and no more.
 */
function fromOf(driver: Driver, filter: DeliveryFilter, page: DeliveryPage): RawBuilder<unknown> {
  const { connectionId, sourceId, destinationId } = filter
  const last = sql`${orderBy(page, KEY[driver], NEXT_AT)} limit ${page.limit + 1}`
  if (driver === 'waiting' && areAny([connectionId, sourceId])) {
    return sql`(select * from delivery_waiting w
      where ${sql.join(waitingConditions(filter, page), sql` and `)} ${last}) w
      join delivery d on d.class = w.class and d.id = w.delivery_id`
  }
  if (driver === 'failed' && areAny([connectionId, sourceId, destinationId])) {
    return sql`(select f.* from delivery_failed f, ${NOTHING_WAITS}
      where ${sql.join(failedConditions(filter, page), sql` and `)} ${last}) f
      join delivery d on d.class = f.class and d.id = f.delivery_id cross join ${NOTHING_WAITS}`
  }
  return FROM[driver]
}

function areAny(filters: readonly unknown[]): boolean {
  return filters.every((value) => value === undefined)
}

function waitingConditions(filter: DeliveryFilter, page: DeliveryPage): RawBuilder<unknown>[] {
  return [
    ...equals([
      [sql`w.project_id`, filter.projectId],
      [sql`w.status`, filter.status],
      [sql`w.destination_id`, filter.destinationId],
      [sql`w.error_code`, filter.errorCode],
      [sql`w.response_status`, filter.responseStatus],
      [sql`w.response_status / 100`, filter.responseClass],
    ]),
    ...within(KEY.waiting, filter),
    ...afterPlace(KEY.waiting, page),
  ]
}

function failedConditions(filter: DeliveryFilter, page: DeliveryPage): RawBuilder<unknown>[] {
  return [
    ...equals([
      [sql`f.project_id`, filter.projectId],
      [sql`f.status`, filter.status],
      [sql`f.error_code`, filter.errorCode],
      [sql`f.response_status`, filter.responseStatus],
      [sql`f.response_status / 100`, filter.responseClass],
    ]),
    ...within(KEY.failed, filter),
    ...afterPlace(KEY.failed, page),
  ]
}

function driversOf({ eventId, status, errorCode, ...filter }: DeliveryFilter): Driver[] {
  if (eventId !== undefined) return ['all']
  const { responseStatus, responseClass = responseStatus && Math.floor(responseStatus / 100) } =
    filter
  switch (status) {
    case 'pending':
      // Before its first attempt nothing has come of it.
      return errorCode === undefined && responseClass === undefined
        ? ['waiting', 'fresh']
        : ['waiting']
    case 'throttled':
    case 'in_flight':
      return ['waiting']
    case 'failed':
    case 'cancelled':
      return ['failed']
    case undefined: {
      const isFailure =
        errorCode !== undefined || (responseClass !== undefined && responseClass !== 2)
      return isFailure ? ['failed', 'waiting'] : ['all']
    }
    default:
      return ['all']
  }
}

function conditions(
  driver: Driver,
  filter: DeliveryFilter,
  page: DeliveryPage,
): RawBuilder<unknown>[] {
  const key = KEY[driver]
  const project = {
    waiting: sql`w.project_id`,
    failed: sql`f.project_id`,
    fresh: D_PROJECT,
    all: D_PROJECT,
  }
  return [
    ...equals([
      [project[driver], filter.projectId],
      [sql`d.status`, filter.status],
      [sql`d.event_id`, filter.eventId],
      [sql`d.connection_id`, filter.connectionId],
      [driver === 'waiting' ? sql`w.destination_id` : sql`d.destination_id`, filter.destinationId],
      [sql`d.source_id`, filter.sourceId],
      [sql`d.last_error_code`, filter.errorCode],
      [sql`d.last_response_status`, filter.responseStatus],
      [sql`d.last_response_status / 100`, filter.responseClass],
      [sql`w.status`, driver === 'waiting' ? filter.status : undefined],
      [sql`f.status`, driver === 'failed' ? filter.status : undefined],
    ]),
    ...within(key, filter),
    ...(driver === 'fresh'
      ? [sql`${key} >= ${page.freshFromId}::uuid`, sql`w.delivery_id is null`]
      : []),
    ...afterPlace(key, page),
  ]
}

function equals(pairs: readonly [RawBuilder<unknown>, unknown][]): RawBuilder<unknown>[] {
  return pairs.flatMap(([column, value]) =>
    value === undefined ? [] : [sql`${column} = ${value}`],
  )
}

function within(
  key: RawBuilder<unknown>,
  { fromId, untilId }: DeliveryFilter,
): RawBuilder<unknown>[] {
  return [
    ...(fromId === undefined ? [] : [sql`${key} >= ${fromId}::uuid`]),
    ...(untilId === undefined ? [] : [sql`${key} < ${untilId}::uuid`]),
  ]
}

function afterPlace(key: RawBuilder<unknown>, page: DeliveryPage): RawBuilder<unknown>[] {
  const { after, sortBy, sortDir } = page
  if (after === undefined) return []
  const order = sortDir === 'asc' ? sql`>` : sql`<`
  const behindId = sql`${key} ${order} ${after.id}::uuid`
  if (sortBy === 'createdAt') return [behindId]
  if (after.nextAt === null) return [sql`${NEXT_AT} is null and ${behindId}`]
  return [
    sql`(${NEXT_AT} ${order} ${after.nextAt} or (${NEXT_AT} = ${after.nextAt} and ${behindId})
      or ${NEXT_AT} is null)`,
  ]
}

function orderBy(
  page: DeliveryPage,
  key: RawBuilder<unknown>,
  nextAt: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const dir = sql.raw(page.sortDir)
  return page.sortBy === 'createdAt'
    ? sql`order by ${key} ${dir}`
    : sql`order by ${nextAt} ${dir} nulls last, ${key} ${dir}`
}

/** Undefined when the delivery is absent or out of reach: the caller must not tell which. */
export async function findDelivery(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<Delivery | undefined> {
  const lock = options?.lock === true ? sql`for update of d` : sql``
  const { rows } = await sql<Delivery>`
    select ${COLUMNS} from delivery d left join delivery_waiting w on w.delivery_id = d.id
    where d.id = ${id}::uuid and ${reachable(reach)} ${lock}`.execute(db)
  return rows[0]
}

/** The newest deliveries of an event, newest first. */
export async function deliveriesOfEvent(
  db: Db,
  event: { id: string },
  limit: number,
): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`
    select ${COLUMNS} from delivery d left join delivery_waiting w on w.delivery_id = d.id
    where d.event_id = ${event.id}::uuid order by d.id desc limit ${limit}`.execute(db)
  return rows
}

function reachable({ organisationId, projectId }: Reach): RawBuilder<unknown> {
  return projectId === undefined
    ? sql`d.project_id in (select id from project where organisation_id = ${organisationId}::uuid)`
    : sql`d.project_id = ${projectId}::uuid`
}
