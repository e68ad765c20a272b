import type pg from 'pg'

import { int2Array, textArray, timeArray, uuidArray } from '../../connection/binary-arrays.ts'
import { eachPartition, placeOfDelivery } from '../../connection/day-partitions.ts'
import { LIST_CANCELLED, type Deleted } from '../act/cancellations.ts'
import { heldFlags, holdsOf, type Hold } from './partition-owners.ts'
import type { ClaimedDelivery, WaitingRow } from './read-claimed.ts'
import { throttleTimes } from './throttled-at.ts'

/** A row that goes (back) to wait in its lane. */
export interface Parked extends WaitingRow {
  /** Where it waits from now on; another than that of its hold when the destination has moved. */
  partition: number
  hold: Hold
  status: 'pending' | 'throttled'
  /** Set when pacing or its destination holds it and it was not throttled before. */
  throttledAtMs: number | null
  /** Why it waits, when that is not pacing: `destination_disabled`, `connector_offline` or `connector_full`. */
  lastError: string | null
}

const parkIn = (table: string): string => `
  with ${heldFlags(12)}, input as materialized (
    select * from unnest($1::int2[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::int2[], $7::text[], $8::text[],
      $9::timestamptz[], $10::text[], $11::int2[])
    as t (class, id, organisation_id, project_id, destination_id, partition, attempt_trigger, status,
      throttled_at, last_error, slot)
    where (select flags from held)[t.slot]
  ), changed as (
    update ${table} d set status = i.status, lease_until = null,
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
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
    partition, status, attempt_trigger, next_at)
  select i.id, i.class, i.organisation_id, i.project_id, i.destination_id, i.connection_id, i.source_id,
    i.partition, i.status, i.attempt_trigger, null
  from changed i
  on conflict (delivery_id) do update set
    status = excluded.status, next_at = null, claimed_by = null, partition = excluded.partition`

/**
 * Parks deliveries behind their lanes. A delivery that was cancelled or finished meanwhile, or whose partition was
 * lost, is left alone. `tries` is how often it was tried before.
 */
export async function park(pool: pg.Pool, rows: readonly Parked[], tries: number): Promise<void> {
  await eachPartition('delivery', rows, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      const { columns, slots } = holdsOf(group)
      await pool.query({
        name: `park_in_${table}`,
        text: parkIn(table),
        values: [
          int2Array(group.map((row) => row.retentionClass)),
          uuidArray(group.map((row) => row.deliveryId)),
          uuidArray(group.map((row) => row.organisationId)),
          uuidArray(group.map((row) => row.projectId)),
          uuidArray(group.map((row) => row.destinationId)),
          int2Array(group.map((row) => row.partition)),
          textArray(group.map((row) => row.attemptTrigger)),
          textArray(group.map((row) => row.status)),
          throttleTimes(group, tries),
          textArray(group.map((row) => row.lastError)),
          slots,
          ...columns,
        ],
      })
    },
  })
}

const markInFlightIn = (table: string): string => `
  with ${heldFlags(9)}, input as (
    select * from unnest($1::int2[], $2::uuid[], $3::uuid[], $4::int2[], $5::text[], $6::timestamptz[], $8::int2[])
    as t (class, id, organisation_id, partition, attempt_trigger, until, slot)
    where (select flags from held)[t.slot]
  ), changed as (
    update ${table} d set status = 'in_flight', lease_until = null
    from input i
    where d.class = i.class and d.id = i.id and d.status in ('pending', 'throttled', 'in_flight')
    returning i.*, d.project_id, d.destination_id, d.connection_id, d.source_id
  )
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
    partition, status, attempt_trigger, next_at, claimed_by)
  select id, class, organisation_id, project_id, destination_id, connection_id, source_id, partition, 'in_flight',
    attempt_trigger, until, $7::text
  from changed
  on conflict (delivery_id) do update set
    status = 'in_flight', next_at = excluded.next_at, claimed_by = excluded.claimed_by
  returning delivery_id as id`

/** An attempt that lasts, and until when no other worker may have it. */
export interface LongAttempt extends Pick<
  ClaimedDelivery,
  'retentionClass' | 'deliveryId' | 'organisationId' | 'attemptTrigger'
> {
  hold: Hold
  leaseUntilMs: number
}

/**
 * Shows long attempts as `in_flight` and keeps every other worker away from them. Returns the ids of those that are
 * still this worker's.
 */
export async function markInFlight(
  pool: pg.Pool,
  attempts: readonly LongAttempt[],
  claimedBy: string,
): Promise<Set<string>> {
  const ours = new Set<string>()
  await eachPartition('delivery', attempts, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      const { columns, slots } = holdsOf(group)
      const { rows } = await pool.query<{ id: string }>({
        name: `mark_in_flight_in_${table}`,
        text: markInFlightIn(table),
        values: [
          int2Array(group.map((attempt) => attempt.retentionClass)),
          uuidArray(group.map((attempt) => attempt.deliveryId)),
          uuidArray(group.map((attempt) => attempt.organisationId)),
          int2Array(group.map((attempt) => attempt.hold.partition)),
          textArray(group.map((attempt) => attempt.attemptTrigger)),
          timeArray(group.map((attempt) => attempt.leaseUntilMs)),
          claimedBy,
          slots,
          ...columns,
        ],
      })
      for (const { id } of rows) ours.add(id)
    },
  })
  return ours
}

const cancelIn = (table: string): string => `
  with ${heldFlags(6)}, input as (
    select * from unnest($1::int2[], $2::uuid[], $4::int2[], $5::text[]) as t (class, id, slot, last_error)
    where (select flags from held)[t.slot]
  ), changed as (
    update ${table} d set status = 'cancelled', lease_until = null, throttled_reason = null,
      completed_at = $3::timestamptz, last_error = i.last_error
    from input i
    where d.class = i.class and d.id = i.id and d.status in ('pending', 'throttled', 'in_flight')
    returning d.*
  ), ended as (${LIST_CANCELLED})
  delete from delivery_waiting w using input i where w.delivery_id = i.id`

/** Ends deliveries whose destination or connection is gone. (decisions: Delivery, "cancelled") */
export async function cancelDeliveries(
  pool: pg.Pool,
  deliveries: readonly {
    retentionClass: number
    deliveryId: string
    hold: Hold
    because: Deleted
  }[],
  nowMs: number,
): Promise<void> {
  await eachPartition('delivery', deliveries, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      const { columns, slots } = holdsOf(group)
      await pool.query({
        name: `cancel_deliveries_in_${table}`,
        text: cancelIn(table),
        values: [
          int2Array(group.map((delivery) => delivery.retentionClass)),
          uuidArray(group.map((delivery) => delivery.deliveryId)),
          new Date(nowMs),
          slots,
          textArray(group.map((delivery) => delivery.because)),
          ...columns,
        ],
      })
    },
  })
}

const claimLeasedIn = (table: string): string => `
  with ${heldFlags(6)}
  update ${table} d set lease_until = $4::timestamptz
  from unnest($1::int2[], $2::uuid[], $3::timestamptz[], $5::int2[]) as i (class, id, lease_until, slot)
  where (select flags from held)[i.slot] and d.class = i.class and d.id = i.id and d.lease_until = i.lease_until and d.status = 'pending'
  returning d.id, not exists (select from connection k where k.id = d.connection_id) as is_orphan`

/** A delivery named by a message, with the lease it was published under. */
export interface LeasedDelivery {
  retentionClass: number
  deliveryId: string
  leaseUntilMs: number
  hold: Hold
}

/**
 * Claims deliveries whose message arrived late or twice. Returns those nobody else has claimed, by id; `isOrphan` if
 * their connection was deleted.
 */
export async function claimLeased(
  pool: pg.Pool,
  deliveries: readonly LeasedDelivery[],
  leaseUntilMs: number,
): Promise<Map<string, { isOrphan: boolean }>> {
  const ours = new Map<string, { isOrphan: boolean }>()
  await eachPartition('delivery', deliveries, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      const { columns, slots } = holdsOf(group)
      const { rows } = await pool.query<{ id: string; is_orphan: boolean }>({
        name: `claim_leased_in_${table}`,
        text: claimLeasedIn(table),
        values: [
          int2Array(group.map((delivery) => delivery.retentionClass)),
          uuidArray(group.map((delivery) => delivery.deliveryId)),
          timeArray(group.map((delivery) => delivery.leaseUntilMs)),
          new Date(leaseUntilMs),
          slots,
          ...columns,
        ],
      })
      for (const { id, is_orphan: isOrphan } of rows) ours.set(id, { isOrphan })
    },
  })
  return ours
}
