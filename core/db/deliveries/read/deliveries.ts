import { sql, type RawBuilder } from 'kysely'

import type { AttemptErrorCode } from '../../../delivery/attempt-error.ts'
import type {
  DELIVERY_TRIGGERS,
  DeliveryStatus,
  THROTTLED_REASONS,
} from '../../../delivery/states.ts'
import { timeOfId } from '../../../ids.ts'
import type { Db } from '../../connection/db.ts'
import { KEPT } from '../../connection/kept-plans.ts'
import { isWide } from '../../lists/id-ranges.ts'
import type { Reach } from '../../lists/page.ts'
import { deliveriesOf, type DeliveryFilter, type EventPlace } from './delivery-indexes.ts'

export interface Delivery {
  retentionClass: number
  id: string
  eventId: string | null
  connectionId: string | null
  destinationId: string
  sourceId: string | null
  projectId: string
  status: DeliveryStatus
  trigger: (typeof DELIVERY_TRIGGERS)[number]
  attemptCount: number
  maxAttempts: number
  leaseUntil: Date | null
  throttledReason: (typeof THROTTLED_REASONS)[number] | null
  throttledAt: Date | null
  lastError: string | null
  lastAttemptAt: Date | null
  lastResponseStatus: number | null
  lastErrorCode: AttemptErrorCode | null
  lastDurationMs: number | null
  completedAt: Date | null
  /** It queues behind its destination's other deliveries. */
  isParked: boolean
  /** Somebody asked for the attempt that it waits for. */
  isByHand: boolean
  /** When it is due; null while it is parked, in a worker's hands or finished. */
  nextAt: Date | null
}

/** A claimed row's time is the worker's lease. */
const NEXT_AT = sql`case when w.claimed_by is null then w.next_at end`

/** A waiting delivery follows the present retry policy; an ended one keeps the number from its end. */
const MAX_ATTEMPTS = sql`coalesce(
    case when d.status in ('pending', 'throttled', 'in_flight') and d.event_id is not null
      and coalesce(w.resumes_as, 'pending') = 'pending' then (
        select (t.retry_policy->>'maxAttempts')::int from destination t where t.id = d.destination_id)
    end, d.max_attempts)`
const COLUMNS = sql`
  d.class as "retentionClass", d.id, d.event_id as "eventId", d.connection_id as "connectionId", d.destination_id as "destinationId",
  d.source_id as "sourceId", d.project_id as "projectId", d.status, d.trigger, d.attempt_count as "attemptCount",
  ${MAX_ATTEMPTS} as "maxAttempts", d.lease_until as "leaseUntil", d.throttled_reason as "throttledReason",
  d.throttled_at as "throttledAt", d.last_error as "lastError", d.last_attempt_at as "lastAttemptAt",
  d.last_response_status as "lastResponseStatus", d.last_error_code as "lastErrorCode",
  d.last_duration_ms as "lastDurationMs", d.completed_at as "completedAt",
  w.delivery_id is not null and w.next_at is null as "isParked", w.resumes_as is not null as "isByHand",
  ${NEXT_AT} as "nextAt"`

/** Reads the deliveries of the keys that still match the filter, in the order of the keys. */
export async function readDeliveries(
  db: Db,
  filter: DeliveryFilter,
  keys: readonly { retentionClass: number; id: string }[],
): Promise<Delivery[]> {
  if (keys.length === 0) return []
  const classes = keys.map((key) => key.retentionClass)
  const ids = keys.map(({ id }) => id)
  const inOrder = ids.toSorted()
  const [first = '', last = ''] = [inOrder[0], inOrder.at(-1)]
  const kept = isWide({ fromId: first, untilId: last }, timeOfId(last)) ? KEPT : sql``
  // Said twice: by what is given, the planner leaves out the partitions of other days; by each key, one is looked into.
  const { rows } = await sql<Delivery>`${kept}
    select ${COLUMNS}
    from unnest(${classes}::int2[], ${ids}::uuid[]) as k (class, id)
    cross join lateral (
      select * from delivery where class = k.class and id = k.id
        and class = any(${[...new Set(classes)]}::int2[])
        and id between ${first}::uuid and ${last}::uuid
      offset 0) d
    left join delivery_waiting w on w.delivery_id = d.id
    where ${isAs(filter)}`.execute(db)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Checks the columns that may have changed since the keys were read. All filters share the text, so its plan can be cached. */
function isAs(filter: DeliveryFilter): RawBuilder<unknown> {
  return sql.join(
    [
      isWanted(sql`d.status`, filter.status, sql`text`),
      isWanted(sql`d.last_error_code`, filter.errorCode, sql`text`),
      isWanted(sql`d.last_response_status`, filter.responseStatus, sql`int4`),
      isWanted(sql`d.last_response_status / 100`, filter.responseClass, sql`int4`),
    ],
    sql` and `,
  )
}

function isWanted(
  column: RawBuilder<unknown>,
  value: string | number | undefined,
  type: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`(${value ?? null}::${type} is null or ${column} = ${value ?? null}::${type})`
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
  event: EventPlace,
  limit: number,
): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`${KEPT}
    select ${COLUMNS}
    from (select * from (${deliveriesOf(event)}) as its order by id desc limit ${sql.lit(limit)}) d
      left join delivery_waiting w on w.delivery_id = d.id
    order by d.id desc`.execute(db)
  return rows
}

function reachable({ organisationId, projectId }: Reach): RawBuilder<unknown> {
  return projectId === undefined
    ? sql`d.project_id in (select id from project where organisation_id = ${organisationId}::uuid and not is_internal)`
    : sql`d.project_id = ${projectId}::uuid`
}
