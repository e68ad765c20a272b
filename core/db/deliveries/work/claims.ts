import type pg from 'pg'

import { int2Array, textArray, timeArray, uuidArray } from '../../connection/binary-arrays.ts'
import { eachPartition, placeOfDelivery } from '../../connection/day-partitions.ts'
import { holdColumns, type Hold } from './partition-owners.ts'
import { readClaimed, type ClaimableRow, type ClaimedDelivery, type Lease } from './read-claimed.ts'

/** The end of an update of `w` by `head`, which knows what the rows were before. */
const TAKEN = `
  from head h where w.delivery_id = h.delivery_id
  returning w.class as "retentionClass", w.delivery_id as "deliveryId", w.organisation_id as "organisationId",
    w.project_id as "projectId", w.destination_id as "destinationId", w.partition,
    w.attempt_trigger as "attemptTrigger", w.resumes_as as "resumesAs", w.resumes_at as "resumesAt", h.status as "formerStatus", h.next_at as "formerNextAt"`

const CLAIM_DUE = `
  with head as (
    select delivery_id, status, next_at from delivery_waiting
    where partition = any(array(
        select o.partition from unnest($1::int2[], $6::int4[]) as h (partition, epoch)
        join partition_owner o on o.partition = h.partition and o.epoch = h.epoch
      )) and next_at <= $2::timestamptz
    order by next_at limit $3::int4 for update skip locked
  )
  update delivery_waiting w set next_at = $4::timestamptz, claimed_by = $5::text, status = 'in_flight' ${TAKEN}`

const claimParkedOf = (kind: string): string => `
  with head as (
    select delivery_id, status, next_at from delivery_waiting
    where destination_id = $1::uuid and next_at is null ${kind}
      and exists (select from partition_owner where partition = $5::int2 and epoch = $6::int4)
    order by delivery_id limit $2::int4 for update skip locked
  )
  update delivery_waiting w set next_at = $3::timestamptz, claimed_by = $4::text, partition = $5::int2 ${TAKEN}`

const CLAIM_PARKED = claimParkedOf('')

/** Claims manual retries only, which ignore a busy window. They have an index of their own. */
const CLAIM_PARKED_BY_HAND = claimParkedOf(`and attempt_trigger in ('manual', 'bulk')`)

/** Rows that nobody has taken over since. */
const GIVE_BACK = `
  update delivery_waiting w set next_at = i.next_at, status = i.status, claimed_by = null
  from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as i (id, status, next_at)
  where w.delivery_id = i.id and w.claimed_by = $4::text and w.next_at = $5::timestamptz`

const showInFlightIn = (table: string): string => `
  update ${table} d set status = 'in_flight'
  where d.class = $1::int2 and d.id = any($2::uuid[]) and d.status in ('pending', 'throttled') and exists (
    select from delivery_waiting w
    where w.delivery_id = d.id and w.claimed_by = $3::text and w.next_at = $4::timestamptz)`

export interface Claim extends Lease {
  nowMs: number
  limit: number
}

/** The deliveries of a claim, `CLAIM_BYTES_MAX` at most, and whether there are more. */
export interface Claimed {
  deliveries: ClaimedDelivery[]
  isAll: boolean
}

interface TakenRow extends ClaimableRow {
  formerStatus: string
  formerNextAt: Date | null
}

/** Claims the due deliveries, including those that were in flight in a dead worker. */
export async function claimDue(
  pool: pg.Pool,
  holds: readonly Hold[],
  claim: Claim,
): Promise<Claimed> {
  const [partitions, epochs] = holdColumns(holds)
  const { rows } = await pool.query<TakenRow>({
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
  const claimed = await complete(pool, rows.toSorted(byTime), claim)
  await showInFlight(pool, claimed.deliveries, claim)
  return claimed
}

/** An index gives the first of each partition. */
const FIRST_DUE = `
  select min(first.next_at) as at from unnest($1::int2[]) as p (partition) cross join lateral (
    select w.next_at from delivery_waiting w
    where w.partition = p.partition and w.next_at is not null order by w.next_at limit 1
  ) as first`

/** When the next row of these partitions is due; undefined when none has a time. */
export async function firstDueAt(
  pool: pg.Pool,
  partitions: readonly number[],
): Promise<number | undefined> {
  const { rows } = await pool.query<{ at: Date | null }>({
    name: 'first_due',
    text: FIRST_DUE,
    values: [int2Array(partitions)],
  })
  return rows[0]?.at?.getTime()
}

interface ParkedLane {
  destinationId: string
  hold: Hold
  /** Only attempts that somebody asked for. */
  byHandOnly?: boolean
}

/** Takes the oldest parked deliveries of one lane, those too that were parked before its partition became this one. */
export async function claimParked(
  pool: pg.Pool,
  { destinationId, hold, byHandOnly = false }: ParkedLane,
  claim: Claim,
): Promise<Claimed> {
  const { rows } = await pool.query<TakenRow>({
    name: byHandOnly ? 'claim_parked_by_hand' : 'claim_parked',
    text: byHandOnly ? CLAIM_PARKED_BY_HAND : CLAIM_PARKED,
    values: [
      destinationId,
      claim.limit,
      new Date(claim.leaseUntilMs),
      claim.claimedBy,
      hold.partition,
      hold.epoch,
    ],
  })
  return await complete(pool, rows.toSorted(byId), claim)
}

/**
 * Reads what belongs to the rows and gives back those that are too much, in the order in which they should go out.
 * Should it end half way, the claim's lease passes and the rows are due.
 */
async function complete(pool: pg.Pool, rows: readonly TakenRow[], claim: Claim): Promise<Claimed> {
  const { deliveries, left } = await readClaimed(pool, rows, claim)
  if (left.length > 0) await giveBack(pool, left, claim)
  return {
    deliveries: deliveries.toSorted(byId),
    isAll: rows.length < claim.limit && left.length === 0,
  }
}

async function giveBack(
  pool: pg.Pool,
  rows: readonly TakenRow[],
  { claimedBy, leaseUntilMs }: Lease,
): Promise<void> {
  await pool.query({
    name: 'give_back_claimed',
    text: GIVE_BACK,
    values: [
      uuidArray(rows.map((row) => row.deliveryId)),
      textArray(rows.map((row) => row.formerStatus)),
      timeArray(rows.map((row) => row.formerNextAt?.getTime() ?? null)),
      claimedBy,
      new Date(leaseUntilMs),
    ],
  })
}

async function showInFlight(
  pool: pg.Pool,
  deliveries: readonly ClaimedDelivery[],
  { claimedBy, leaseUntilMs }: Lease,
): Promise<void> {
  await eachPartition('delivery', deliveries, {
    placeOf: placeOfDelivery,
    async run(table, group) {
      await pool.query({
        name: `show_in_flight_in_${table}`,
        text: showInFlightIn(table),
        values: [
          group[0]?.retentionClass,
          uuidArray(group.map((one) => one.deliveryId)),
          claimedBy,
          new Date(leaseUntilMs),
        ],
      })
    },
  })
}

/** The most overdue first. */
function byTime(a: TakenRow, b: TakenRow): number {
  return Number(a.formerNextAt) - Number(b.formerNextAt) || byId(a, b)
}

function byId(a: { deliveryId: string }, b: { deliveryId: string }): number {
  return a.deliveryId < b.deliveryId ? -1 : 1
}
