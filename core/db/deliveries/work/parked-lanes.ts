import type pg from 'pg'

import { int2Array, uuidArray } from '../../connection/binary-arrays.ts'
import { holdColumns, type Hold } from './partition-owners.ts'

/** Rows that one statement moves to another partition. */
const MOVED_MAX = 1_000

/** The lanes with parked rows of each partition, by one index probe a lane rather than a scan of the rows. */
const PARKED_LANES = `
  with recursive lane as (
    select p.partition, first.destination_id from unnest($1::int2[]) as p (partition) cross join lateral (
      select w.destination_id from delivery_waiting w
      where w.partition = p.partition and w.next_at is null
      order by w.destination_id limit 1) as first
    union all
    select lane.partition, next.destination_id from lane cross join lateral (
      select w.destination_id from delivery_waiting w
      where w.partition = lane.partition and w.next_at is null and w.destination_id > lane.destination_id
      order by w.destination_id limit 1) as next
  )
  select destination_id, partition from lane`

/** The lanes with parked rows in these partitions: one that has moved is found in each where it has rows. */
export async function parkedLanes(
  pool: pg.Pool,
  partitions: readonly number[],
): Promise<{ destinationId: string; partition: number }[]> {
  const { rows } = await pool.query<{ destination_id: string; partition: number }>({
    name: 'parked_lanes',
    text: PARKED_LANES,
    values: [int2Array(partitions)],
  })
  return rows.map((row) => ({ destinationId: row.destination_id, partition: row.partition }))
}

const MOVE_PARKED = `
  with moved as (
    select delivery_id from delivery_waiting
    where destination_id = $1::uuid and next_at is null and partition <> $2::int2
      and exists (select from partition_owner where partition = $3::int2 and epoch = $4::int4)
    order by delivery_id limit $5::int4 for update skip locked
  )
  update delivery_waiting w set partition = $2::int2 from moved where w.delivery_id = moved.delivery_id`

/** Hands a lane's parked rows over to the partition that it has moved to. True when there may be more. */
export async function moveParked(
  pool: pg.Pool,
  lane: { destinationId: string; partition: number },
  hold: Hold,
): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'move_parked',
    text: MOVE_PARKED,
    values: [lane.destinationId, lane.partition, hold.partition, hold.epoch, MOVED_MAX],
  })
  return rowCount === MOVED_MAX
}

const RELEASE = `
  update delivery_waiting set next_at = $1::timestamptz, claimed_by = null
  where claimed_by = $2::text and partition = any($3::int2[]) and next_at is not null and delivery_id <> all($5::uuid[])
    and exists (select from partition_owner o
      where o.partition = delivery_waiting.partition and o.epoch = any($4::int4[]))`

/** Gives back at once the claimed rows of a worker that hands its partitions over, except those being sent. */
export async function releaseClaims(
  pool: pg.Pool,
  holds: readonly Hold[],
  { claimedBy, nowMs, except }: { claimedBy: string; nowMs: number; except: readonly string[] },
): Promise<void> {
  const [partitions, epochs] = holdColumns(holds)
  await pool.query(RELEASE, [new Date(nowMs), claimedBy, partitions, epochs, uuidArray(except)])
}
