import type pg from 'pg'

import { int2Array, textArray, timeArray, uuidArray } from './binary-arrays.ts'
import { throttleTimes } from './throttle-times.ts'

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
    body: Buffer
  }
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
}

/** The join that turns claimed rows into work; ids are in `claimed`, in the order in which they should go out. */
const READ_CLAIMED = `
  select c.class, c.delivery_id, d.event_id, d.source_id, d.connection_id, c.organisation_id, c.project_id, c.destination_id,
    c.partition, c.attempt_trigger, d.attempt_count, d.attempt_number, d.max_attempts, d.throttled_at, d.first_attempt_at,
    d.connection_id is not null and k.id is null or d.event_id is not null and e.id is null as is_orphan,
    e.headers, e.verified_with, e.remote_ip, e.raw, s.name as source_name
  from claimed c
  join delivery d on d.class = c.class and d.id = c.delivery_id
  left join connection k on k.id = d.connection_id
  left join event e on e.class = d.class and e.id = d.event_id
  left join source s on s.id = d.source_id
  order by c.delivery_id`

const CLAIM_DUE = `
  with due as (
    select delivery_id from delivery_waiting
    where partition = any($1::int2[]) and next_at <= $2::timestamptz
    order by next_at limit $3::int4 for update skip locked
  ), claimed as (
    update delivery_waiting w set next_at = $4::timestamptz, claimed_by = $5::text, status = 'in_flight'
    from due where w.delivery_id = due.delivery_id
    returning w.*
  ), flying as (
    update delivery d set status = 'in_flight' from claimed c where d.class = c.class and d.id = c.delivery_id
  )
  ${READ_CLAIMED}`

const CLAIM_PARKED = `
  with head as (
    select delivery_id from delivery_waiting
    where destination_id = $1::uuid and next_at is null
    order by delivery_id limit $2::int4 for update skip locked
  ), claimed as (
    update delivery_waiting w set next_at = $3::timestamptz, claimed_by = $4::text
    from head where w.delivery_id = head.delivery_id
    returning w.*
  )
  ${READ_CLAIMED}`

export interface Claim {
  nowMs: number
  leaseUntilMs: number
  limit: number
  claimedBy: string
}

/** Takes the waiting deliveries whose time has come, those that a dead worker had in hand included. */
export async function claimDue(
  pool: pg.Pool,
  partitions: readonly number[],
  claim: Claim,
): Promise<ClaimedDelivery[]> {
  const { rows } = await pool.query<Row>({
    name: 'claim_due',
    text: CLAIM_DUE,
    values: [
      int2Array(partitions),
      new Date(claim.nowMs),
      claim.limit,
      new Date(claim.leaseUntilMs),
      claim.claimedBy,
    ],
  })
  return rows.map(toClaimed)
}

/** Takes the oldest parked deliveries of one lane. */
export async function claimParked(
  pool: pg.Pool,
  destinationId: string,
  claim: Claim,
): Promise<ClaimedDelivery[]> {
  const { rows } = await pool.query<Row>({
    name: 'claim_parked',
    text: CLAIM_PARKED,
    values: [destinationId, claim.limit, new Date(claim.leaseUntilMs), claim.claimedBy],
  })
  return rows.map(toClaimed)
}

/** A row that goes (back) to wait in its lane. */
export interface Parked {
  class: number
  deliveryId: string
  organisationId: string
  projectId: string
  destinationId: string
  partition: number
  attemptTrigger: ClaimedDelivery['attemptTrigger']
  status: 'pending' | 'throttled'
  /** Set when pacing or its destination holds it and it was not throttled before. */
  throttledAtMs: number | null
  /** Why it waits, when that is not pacing: `destination_disabled`. */
  lastError: string | null
}

const PARK = `
  with input as materialized (
    select * from unnest($1::int2[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::int2[], $7::text[], $8::text[],
      $9::timestamptz[], $10::text[])
    as t (class, id, organisation_id, project_id, destination_id, partition, attempt_trigger, status,
      throttled_at, last_error)
  ), changed as (
    update delivery d set status = i.status, lease_until = null,
      throttled_reason = case when i.status = 'throttled' then 'rate_limit' end,
      throttled_at = coalesce(d.throttled_at, i.throttled_at),
      last_error = coalesce(i.last_error, d.last_error)
    from input i
    where d.class = i.class and d.id = i.id and d.status in ('pending', 'throttled', 'in_flight')
    returning d.throttled_at = i.throttled_at as is_first_throttle, i.*, d.source_id, d.connection_id
  ), tallied as (
    insert into delivery_delta (at, project_id, source_id, destination_id, connection_id,
      succeeded, failed, throttled, attempts, retried)
    select throttled_at, project_id, source_id, destination_id, connection_id, 0, 0, count(*), 0, 0
    from changed where is_first_throttle and source_id is not null and connection_id is not null
    group by throttled_at, project_id, source_id, destination_id, connection_id
  )
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
    attempt_trigger, next_at)
  select i.id, i.class, i.organisation_id, i.project_id, i.destination_id, i.partition, i.status,
    i.attempt_trigger, null
  from changed i
  on conflict (delivery_id) do update set status = excluded.status, next_at = null, claimed_by = null`

/**
 * Parks deliveries behind their lanes. A delivery that was cancelled or finished meanwhile is left alone. `tries` is
 * how often it was tried before.
 */
export async function park(pool: pg.Pool, rows: readonly Parked[], tries: number): Promise<void> {
  await pool.query({
    name: 'park',
    text: PARK,
    values: [
      int2Array(rows.map((row) => row.class)),
      uuidArray(rows.map((row) => row.deliveryId)),
      uuidArray(rows.map((row) => row.organisationId)),
      uuidArray(rows.map((row) => row.projectId)),
      uuidArray(rows.map((row) => row.destinationId)),
      int2Array(rows.map((row) => row.partition)),
      textArray(rows.map((row) => row.attemptTrigger)),
      textArray(rows.map((row) => row.status)),
      throttleTimes(rows, tries),
      textArray(rows.map((row) => row.lastError)),
    ],
  })
}

const MARK_IN_FLIGHT = `
  with changed as (
    update delivery d set status = 'in_flight', lease_until = null
    where d.class = $1::int2 and d.id = $2::uuid and d.status in ('pending', 'throttled', 'in_flight')
    returning d.class, d.id, d.project_id, d.destination_id
  )
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
    attempt_trigger, next_at, claimed_by)
  select id, class, $3::uuid, project_id, destination_id, $4::int2, 'in_flight', $5::text, $6::timestamptz, $7::text
  from changed
  on conflict (delivery_id) do update set
    status = 'in_flight', next_at = excluded.next_at, claimed_by = excluded.claimed_by`

/** Shows a long attempt as `in_flight` and keeps every other worker away from it until `leaseUntilMs`. */
export async function markInFlight(
  pool: pg.Pool,
  delivery: Pick<
    ClaimedDelivery,
    'class' | 'deliveryId' | 'organisationId' | 'partition' | 'attemptTrigger'
  >,
  claim: Pick<Claim, 'leaseUntilMs' | 'claimedBy'>,
): Promise<void> {
  await pool.query({
    name: 'mark_in_flight',
    text: MARK_IN_FLIGHT,
    values: [
      delivery.class,
      delivery.deliveryId,
      delivery.organisationId,
      delivery.partition,
      delivery.attemptTrigger,
      new Date(claim.leaseUntilMs),
      claim.claimedBy,
    ],
  })
}

const CANCEL = `
  with input as (
    select * from unnest($1::int2[], $2::uuid[]) as t (class, id)
  ), changed as (
    update delivery d set status = 'cancelled', lease_until = null, throttled_reason = null,
      completed_at = $3::timestamptz
    from input i
    where d.class = i.class and d.id = i.id and d.status in ('pending', 'throttled', 'in_flight')
  )
  delete from delivery_waiting w using input i where w.delivery_id = i.id`

/** Ends deliveries whose destination or connection is gone. (decisions: Delivery, "cancelled") */
export async function cancelDeliveries(
  pool: pg.Pool,
  deliveries: readonly { class: number; deliveryId: string }[],
  nowMs: number,
): Promise<void> {
  await pool.query({
    name: 'cancel_deliveries',
    text: CANCEL,
    values: [
      int2Array(deliveries.map((delivery) => delivery.class)),
      uuidArray(deliveries.map((delivery) => delivery.deliveryId)),
      new Date(nowMs),
    ],
  })
}

const RELEASE = `
  update delivery_waiting set next_at = $1::timestamptz, claimed_by = null where claimed_by = $2::text`

/** Gives back at once what a worker that shuts down still had in hand. */
export async function releaseClaims(
  pool: pg.Pool,
  claimedBy: string,
  nowMs: number,
): Promise<void> {
  await pool.query(RELEASE, [new Date(nowMs), claimedBy])
}

/** The lanes with parked rows, by one index probe a lane rather than a scan of the rows. */
const PARKED_LANES = `
  with recursive lane as (
    (select destination_id from delivery_waiting where next_at is null order by destination_id limit 1)
    union all
    select (select w.destination_id from delivery_waiting w
      where w.next_at is null and w.destination_id > lane.destination_id order by w.destination_id limit 1)
    from lane where lane.destination_id is not null
  )
  select destination_id from lane where destination_id is not null`

export async function parkedLanes(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ destination_id: string }>(PARKED_LANES)
  return rows.map((row) => row.destination_id)
}

const CLAIM_LEASED = `
  update delivery d set lease_until = $4::timestamptz
  from unnest($1::int2[], $2::uuid[], $3::timestamptz[]) as i (class, id, lease_until)
  where d.class = i.class and d.id = i.id and d.lease_until = i.lease_until and d.status = 'pending'
  returning d.id, not exists (select from connection k where k.id = d.connection_id) as is_orphan`

/** A delivery named by a message, with the lease it was published under. */
export interface LeasedDelivery {
  class: number
  deliveryId: string
  leaseUntilMs: number
}

/**
 * Of deliveries whose message came late or twice, by id those that nobody else has taken, each with whether its
 * connection was deleted.
 */
export async function claimLeased(
  pool: pg.Pool,
  deliveries: readonly LeasedDelivery[],
  leaseUntilMs: number,
): Promise<Map<string, { isOrphan: boolean }>> {
  const { rows } = await pool.query<{ id: string; is_orphan: boolean }>({
    name: 'claim_leased',
    text: CLAIM_LEASED,
    values: [
      int2Array(deliveries.map((delivery) => delivery.class)),
      uuidArray(deliveries.map((delivery) => delivery.deliveryId)),
      timeArray(deliveries.map((delivery) => delivery.leaseUntilMs)),
      new Date(leaseUntilMs),
    ],
  })
  return new Map(rows.map((row) => [row.id, { isOrphan: row.is_orphan }]))
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
      body: row.raw ?? Buffer.alloc(0),
    },
  }
}
