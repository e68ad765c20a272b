import type pg from 'pg'

import { firstIdAt } from '../../../ids.ts'
import { OVERDUE_CLASS, LEASE_MS, RETENTION_CLASSES } from '../../../limits.ts'
import { int2Array, timeArray, uuidArray } from '../../connection/binary-arrays.ts'
import type { Db } from '../../connection/db.ts'

/** First attempts are looked at this long after their lease: a batch that commits late is still before it. */
const MARGIN_MS = 5_000

/** How far the walk goes back when the clock was set back: more than a housekeeper is ever late to notice. */
const BACK_MS = 900_000

/** Deliveries looked at, or moved, by one statement. */
const SWEEP_BATCH = 1_000

/** A first attempt that has not ended. */
export interface OpenDelivery {
  retentionClass: number
  deliveryId: string
  leaseUntil: Date
  organisationId: string
  projectId: string
  destinationId: string
  plan: string
  overrides: Record<string, unknown>
}

/** Everything below was finished or has a waiting row; the least id while nobody has walked. */
export async function readWatermark(db: Db): Promise<string> {
  const row = await db
    .selectFrom('sweep')
    .select('watermark')
    .where('name', '=', 'first_attempts')
    .executeTakeFirst()
  return row?.watermark ?? firstIdAt(0)
}

/** Where the first walk of an installation begins: no delivery is older than the first organisation. */
export async function firstWatermark(db: Db, nowMs: number): Promise<string> {
  const first = await db
    .selectFrom('organisation')
    .select('id')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  const lately = firstIdAt(nowMs - BACK_MS)
  return first !== undefined && first.id < lately ? first.id : lately
}

export async function writeWatermark(db: Db, watermark: string): Promise<void> {
  await db
    .insertInto('sweep')
    .values({ name: 'first_attempts', watermark })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ watermark }))
    .execute()
}

/**
 * Where the walk goes on. A watermark is older than a lease; one that is not was written before the clock was set back,
 * and what is made now gets ids below it.
 */
export function walkFrom(watermark: string, nowMs: number): string {
  return watermark > firstIdAt(nowMs - LEASE_MS) ? firstIdAt(nowMs - BACK_MS) : watermark
}

/** First attempts below this id have outlived the lease that they were made with. */
export function sweptUntil(nowMs: number): string {
  return firstIdAt(nowMs - LEASE_MS - MARGIN_MS)
}

/**
 * Reads each class by itself: its index is in the order of ids, so that a step stops when it has enough. Over all classes
 * at once, every step would read everything that is left (82 ms instead of 5 with 100,000 queued).
 */
const FIND_OPEN = `
  select d.class as "retentionClass", d.id as "deliveryId", d.lease_until as "leaseUntil", d.destination_id as "destinationId",
    d.project_id as "projectId", o.id as "organisationId", o.plan, o.overrides
  from unnest($1::int2[]) as c (class) cross join lateral (
    select class, id, lease_until, destination_id, project_id from delivery
    where class = c.class and id >= $2::uuid and id < $3::uuid and status = 'pending' and lease_until is not null
    order by id limit $4::int4
  ) d
  join project p on p.id = d.project_id join organisation o on o.id = p.organisation_id
  order by d.id limit $4::int4`

/** First attempts among these ids that have not ended, oldest first, and the id up to which all were seen. */
export async function findOpen(
  pool: pg.Pool | pg.ClientBase,
  { fromId, untilId }: { fromId: string; untilId: string },
): Promise<{ open: OpenDelivery[]; endId: string }> {
  const classes = int2Array([...RETENTION_CLASSES, OVERDUE_CLASS])
  const { rows } = await pool.query<OpenDelivery>(FIND_OPEN, [
    classes,
    fromId,
    untilId,
    SWEEP_BATCH,
  ])
  const last = rows.length === SWEEP_BATCH ? rows.at(-1)?.deliveryId : undefined
  return { open: rows, endId: last ?? untilId }
}

/** The lease is compared again, so that a worker which took the delivery meanwhile keeps it. */
const MOVE_TO_WAITING = `
  with input as materialized (
    select * from unnest($1::int2[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::uuid[], $6::uuid[], $7::int2[])
    as t (class, id, lease_until, organisation_id, project_id, destination_id, partition)
  ), changed as (
    update delivery d set lease_until = null from input i
    where d.class = i.class and d.id = i.id and d.lease_until = i.lease_until and d.status = 'pending'
    returning i.*, d.connection_id, d.source_id
  )
  insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
    partition, status, attempt_trigger, next_at)
  select i.id, i.class, i.organisation_id, i.project_id, i.destination_id, i.connection_id, i.source_id,
    i.partition, 'pending', 'initial', $8::timestamptz
  from changed i
  on conflict (delivery_id) do nothing`

/** Makes overdue first attempts due now. Returns how many were still nobody's. */
export async function moveToWaiting(
  pool: pg.Pool,
  overdue: readonly (OpenDelivery & { partition: number })[],
  nowMs: number,
): Promise<number> {
  const { rowCount } = await pool.query(MOVE_TO_WAITING, [
    int2Array(overdue.map((row) => row.retentionClass)),
    uuidArray(overdue.map((row) => row.deliveryId)),
    timeArray(overdue.map((row) => row.leaseUntil.getTime())),
    uuidArray(overdue.map((row) => row.organisationId)),
    uuidArray(overdue.map((row) => row.projectId)),
    uuidArray(overdue.map((row) => row.destinationId)),
    int2Array(overdue.map((row) => row.partition)),
    new Date(nowMs),
  ])
  return rowCount ?? 0
}
