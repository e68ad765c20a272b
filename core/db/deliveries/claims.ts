import type pg from 'pg'

import { CLAIM_BYTES_MAX, MESSAGE_BODY_BYTES_MAX } from '../../limits.ts'
import { holdColumns, type Hold } from './partition-owners.ts'

/** A delivery in the worker's hands, with what it needs from its event. Times are milliseconds since the epoch. */
export interface ClaimedDelivery {
  class: number
  deliveryId: string
  eventId: string | null
  sourceId: string | null
  connectionId: string | null
  organisationId: string
  projectId: string
  destinationId: string
  partition: number
  attemptTrigger: 'initial' | 'automatic' | 'manual' | 'bulk'
  attemptCount: number
  attemptNumber: number
  maxAttempts: number
  throttledAtMs: number | null
  firstAttemptAtMs: number | null
  /** The connection was deleted, or the event purged, after the delivery was made. */
  isOrphan: boolean
  event: {
    /** JSON of [name, value] pairs. */
    headers: string
    verifiedWith: string
    remoteIp: string
    sourceName: string
  }
  /** Null when it is larger than what a claim brings along: to be read on its own. */
  body: Buffer | null
  /** Of the headers and the body that came along. */
  bytes: number
}

interface Row {
  class: number
  delivery_id: string
  event_id: string | null
  source_id: string | null
  connection_id: string | null
  organisation_id: string
  project_id: string
  destination_id: string
  partition: number
  attempt_trigger: ClaimedDelivery['attemptTrigger']
  attempt_count: number
  attempt_number: number
  max_attempts: number
  throttled_at: Date | null
  first_attempt_at: Date | null
  is_orphan: boolean
  headers: string | null
  verified_with: string | null
  remote_ip: string | null
  source_name: string | null
  raw: Buffer | null
  bytes: number
  /** Rows that there were to claim. */
  found: number
}

/**
 * The end of an update of `w`: of the waiting rows in `head` as many as fit a claim, at least one, joined with what makes
 * work of them. They are added up in the order of `head`, in which nested loops keep them; in another order the claim
 * would only end elsewhere. A larger body is not even fetched from where PostgreSQL keeps it.
 */
const CLAIMED = `
    from (
      select *, sum(bytes) over (rows unbounded preceding) as bytes_through
      from (
        select h.delivery_id, d.id is not null as is_there, d.event_id, d.source_id, d.connection_id, d.attempt_count,
          d.attempt_number, d.max_attempts, d.throttled_at, d.first_attempt_at,
          d.connection_id is not null and k.id is null or d.event_id is not null and e.id is null as is_orphan,
          e.headers, e.verified_with, e.remote_ip, s.name as source_name,
          case when e.size_bytes <= ${MESSAGE_BODY_BYTES_MAX} then e.raw end as raw,
          coalesce(octet_length(e.headers), 0)
            + case when e.size_bytes <= ${MESSAGE_BODY_BYTES_MAX} then e.size_bytes else 0 end as bytes
        from head h
        left join delivery d on d.class = h.class and d.id = h.delivery_id
        left join connection k on k.id = d.connection_id
        left join event e on e.class = d.class and e.id = d.event_id
        left join source s on s.id = d.source_id
      ) as measured
    ) as f
    where w.delivery_id = f.delivery_id and f.bytes_through <= greatest(f.bytes, ${CLAIM_BYTES_MAX})
    returning w.class, w.delivery_id, f.event_id, f.source_id, f.connection_id, w.organisation_id, w.project_id,
      w.destination_id, w.partition, w.attempt_trigger, f.attempt_count, f.attempt_number, f.max_attempts,
      f.throttled_at, f.first_attempt_at, f.is_orphan, f.headers, f.verified_with, f.remote_ip, f.source_name, f.raw,
      f.bytes, f.is_there`

/** In the order in which they should go out. */
const READ_CLAIMED = `
  select *, (select count(*) from head) as found from claimed where is_there order by delivery_id`

const CLAIM_DUE = `
  with head as (
    select delivery_id, class from delivery_waiting
    where partition = any(array(
        select o.partition from unnest($1::int2[], $6::int4[]) as h (partition, epoch)
        join partition_owner o on o.partition = h.partition and o.epoch = h.epoch
      )) and next_at <= $2::timestamptz
    order by next_at limit $3::int4 for update skip locked
  ), claimed as (
    update delivery_waiting w set next_at = $4::timestamptz, claimed_by = $5::text, status = 'in_flight' ${CLAIMED}
  ), flying as (
    update delivery d set status = 'in_flight' from claimed c where d.class = c.class and d.id = c.delivery_id
  )
  ${READ_CLAIMED}`

const CLAIM_PARKED = `
  with head as (
    select delivery_id, class from delivery_waiting
    where destination_id = $1::uuid and next_at is null
      and exists (select from partition_owner where partition = $5::int2 and epoch = $6::int4)
    order by delivery_id limit $2::int4 for update skip locked
  ), claimed as (
    update delivery_waiting w set next_at = $3::timestamptz, claimed_by = $4::text, partition = $5::int2 ${CLAIMED}
  )
  ${READ_CLAIMED}`

export interface Claim {
  nowMs: number
  leaseUntilMs: number
  limit: number
  claimedBy: string
}

/** What a claim brought: `CLAIM_BYTES_MAX` at most, and whether that was all there is. */
export interface Claimed {
  deliveries: ClaimedDelivery[]
  isAll: boolean
}

/** Takes the waiting deliveries whose time has come, those that a dead worker had in hand included. */
export async function claimDue(
  pool: pg.Pool,
  holds: readonly Hold[],
  claim: Claim,
): Promise<Claimed> {
  const [partitions, epochs] = holdColumns(holds)
  const { rows } = await pool.query<Row>({
    name: 'claim_due',
    text: CLAIM_DUE,
    values: [
      partitions,
      new Date(claim.nowMs),
      claim.limit,
      new Date(claim.leaseUntilMs),
      claim.claimedBy,
      epochs,
    ],
  })
  return claimedOf(rows, claim)
}

/** Takes the oldest parked deliveries of one lane, those too that were parked before its partition became this one. */
export async function claimParked(
  pool: pg.Pool,
  { destinationId, hold }: { destinationId: string; hold: Hold },
  claim: Claim,
): Promise<Claimed> {
  const { rows } = await pool.query<Row>({
    name: 'claim_parked',
    text: CLAIM_PARKED,
    values: [
      destinationId,
      claim.limit,
      new Date(claim.leaseUntilMs),
      claim.claimedBy,
      hold.partition,
      hold.epoch,
    ],
  })
  return claimedOf(rows, claim)
}

function claimedOf(rows: readonly Row[], { limit }: Claim): Claimed {
  const found = rows[0]?.found ?? 0
  return { deliveries: rows.map(toClaimed), isAll: found < limit && rows.length === found }
}

function toClaimed(row: Row): ClaimedDelivery {
  return {
    class: row.class,
    deliveryId: row.delivery_id,
    eventId: row.event_id,
    sourceId: row.source_id,
    connectionId: row.connection_id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    destinationId: row.destination_id,
    partition: row.partition,
    attemptTrigger: row.attempt_trigger,
    attemptCount: row.attempt_count,
    attemptNumber: row.attempt_number,
    maxAttempts: row.max_attempts,
    throttledAtMs: row.throttled_at?.getTime() ?? null,
    firstAttemptAtMs: row.first_attempt_at?.getTime() ?? null,
    isOrphan: row.is_orphan,
    event: {
      headers: row.headers ?? '[]',
      verifiedWith: row.verified_with ?? 'none',
      remoteIp: row.remote_ip ?? '',
      sourceName: row.source_name ?? '',
    },
    body: row.raw,
    bytes: row.bytes,
  }
}
