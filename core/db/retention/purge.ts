import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import { withoutPruning } from '../connection/partition-pruning.ts'

/** Rows that are gone. */
interface Purged {
  events: number
  deliveries: number
  attempts: number
}

export interface PurgedStep {
  purged: Purged
  /** The last id that was looked at; undefined when there is nothing more. */
  lastId: string | undefined
}

/** A row by its primary key. */
interface Row {
  retentionClass: number
  id: string
}

interface EventRow extends Row {
  sourceId: string
  idempotencyKey: string | null
}

interface DeliveryRow extends Row {
  eventId: string | null
  isWaiting: boolean
}

/** An unfinished delivery must still be sent, so its event stays. */
const IS_WAITING = sql`status in ('pending', 'throttled', 'in_flight')`

/**
 * Reads a step of a project's events below `untilId`, in order of their ids, and deletes those without a waiting delivery,
 * with deliveries, attempts and dedupe keys. The rows stay locked until the commit, so that a retry or a replay finds
 * either all or nothing.
 */
export async function purgeProjectEvents(
  db: Db,
  of: { projectId: string; untilId: string; afterId: string },
  limit: number,
): Promise<PurgedStep> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<EventRow>`
      select class as "retentionClass", id, source_id as "sourceId", idempotency_key as "idempotencyKey" from event
      where project_id = ${of.projectId}::uuid and id > ${of.afterId}::uuid and id < ${of.untilId}::uuid
      order by id limit ${limit} for update`.execute(tx)
    return { purged: await purgeEvents(tx, rows), lastId: lastOf(rows, limit) }
  })
}

/** As `purgeProjectEvents`, over one partition's events of projects that were deleted. */
export async function purgeOrphanEvents(
  db: Db,
  of: { partition: string; untilId: string; afterId: string },
  limit: number,
): Promise<PurgedStep> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<EventRow>`
      select class as "retentionClass", id, source_id as "sourceId", idempotency_key as "idempotencyKey"
      from ${sql.table(of.partition)} e
      where id > ${of.afterId}::uuid and id < ${of.untilId}::uuid
        and not exists (select from project p where p.id = e.project_id)
      order by id limit ${limit} for update`.execute(tx)
    return { purged: await purgeEvents(tx, rows), lastId: lastOf(rows, limit) }
  })
}

/** Deletes a step of a project's finished test deliveries, which belong to no event. */
export async function purgeTestDeliveries(
  db: Db,
  of: { projectId: string; untilId: string; afterId: string },
  limit: number,
): Promise<PurgedStep> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<DeliveryRow>`
      select class as "retentionClass", id, event_id as "eventId", ${IS_WAITING} as "isWaiting" from delivery
      where project_id = ${of.projectId}::uuid and event_id is null
        and id > ${of.afterId}::uuid and id < ${of.untilId}::uuid
      order by id limit ${limit} for update`.execute(tx)
    const due = rows.filter((row) => !row.isWaiting)
    return { purged: await purgeDeliveries(tx, due), lastId: lastOf(rows, limit) }
  })
}

/**
 * Deletes a step of the deliveries of a day's events that lie in the partitions of later days (replays, and deliveries
 * created around midnight). Undefined when one of them waits: then its event must stay.
 */
export async function purgeLaterDeliveries(
  db: Db,
  day: { retentionClass: number; fromId: string; untilId: string },
  limit: number,
): Promise<PurgedStep | undefined> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<DeliveryRow>`
      select class as "retentionClass", id, event_id as "eventId", ${IS_WAITING} as "isWaiting" from delivery
      where class = ${day.retentionClass} and event_id >= ${day.fromId}::uuid and event_id < ${day.untilId}::uuid
        and id >= ${day.untilId}::uuid
      limit ${limit} for update`.execute(tx)
    if (rows.some((row) => row.isWaiting)) return undefined
    return { purged: await purgeDeliveries(tx, rows), lastId: lastOf(rows, limit) }
  })
}

/** Deletes a step of a partition's dedupe keys: they become free before the events are deleted, never after. */
export async function freeDedupeKeys(
  db: Db,
  of: { partition: string; afterId: string },
  limit: number,
): Promise<string | undefined> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<EventRow>`
      select class as "retentionClass", id, source_id as "sourceId", idempotency_key as "idempotencyKey"
      from ${sql.table(of.partition)}
      where id > ${of.afterId}::uuid and idempotency_key is not null
      order by id limit ${limit}`.execute(tx)
    await freeKeys(tx, rows)
    return lastOf(rows, limit)
  })
}

async function purgeEvents(tx: Db, events: readonly EventRow[]): Promise<Purged> {
  const purged: Purged = { events: 0, deliveries: 0, attempts: 0 }
  const gone: EventRow[] = []
  for (const [retentionClass, group] of Map.groupBy(events, (event) => event.retentionClass)) {
    const deliveries = await lockDeliveries(tx, retentionClass, group)
    const held = new Set(deliveries.flatMap((row) => (row.isWaiting ? [row.eventId] : [])))
    const due = group.filter((event) => !held.has(event.id))
    const finished = deliveries.filter((row) => !held.has(row.eventId))
    add(purged, await purgeDeliveries(tx, finished))
    await sql`
      delete from event where class = ${retentionClass} and id = any(${idsOf(due)}::uuid[])`.execute(
      tx,
    )
    purged.events += due.length
    gone.push(...due)
  }
  await freeKeys(tx, gone)
  return purged
}

async function lockDeliveries(
  tx: Db,
  retentionClass: number,
  events: readonly Row[],
): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`
    select class as "retentionClass", id, event_id as "eventId", ${IS_WAITING} as "isWaiting" from delivery
    where class = ${retentionClass} and event_id = any(${idsOf(events)}::uuid[])
    order by id for update`.execute(tx)
  return rows
}

/** Finished deliveries that are locked, with all that hangs on them. */
async function purgeDeliveries(tx: Db, deliveries: readonly Row[]): Promise<Purged> {
  const purged: Purged = { events: 0, deliveries: deliveries.length, attempts: 0 }
  for (const [retentionClass, group] of Map.groupBy(
    deliveries,
    (delivery) => delivery.retentionClass,
  )) {
    const ids = idsOf(group)
    const { numAffectedRows } = await sql`
      delete from attempt where class = ${retentionClass} and delivery_id = any(${ids}::uuid[])`.execute(
      tx,
    )
    purged.attempts += Number(numAffectedRows ?? 0)
    await sql`delete from delivery_failed where delivery_id = any(${ids}::uuid[])`.execute(tx)
    await sql`delete from delivery_waiting where delivery_id = any(${ids}::uuid[])`.execute(tx)
    await sql`delete from delivery where class = ${retentionClass} and id = any(${ids}::uuid[])`.execute(
      tx,
    )
  }
  return purged
}

/** Only where the key still names the event: one that was freed may long be another's. Last in a transaction. */
async function freeKeys(tx: Db, events: readonly EventRow[]): Promise<void> {
  const keyed = events.filter(({ idempotencyKey }) => /^[0-9a-f]{64}$/.test(idempotencyKey ?? ''))
  if (keyed.length === 0) return
  await withoutPruning(tx)
  await sql`
    delete from dedupe_key k
    using unnest(${keyed.map((event) => event.sourceId)}::uuid[],
      ${keyed.map((event) => event.idempotencyKey)}::text[], ${idsOf(keyed)}::uuid[]) as t (source_id, key, event_id)
    where k.source_id = t.source_id and k.key = decode(t.key, 'hex') and k.event_id = t.event_id`.execute(
    tx,
  )
}

function add(sum: Purged, purged: Purged): void {
  sum.events += purged.events
  sum.deliveries += purged.deliveries
  sum.attempts += purged.attempts
}

function idsOf(rows: readonly Row[]): string[] {
  return rows.map((row) => row.id)
}

/** Undefined when the step was the last. */
function lastOf(rows: readonly Row[], limit: number): string | undefined {
  return rows.length < limit ? undefined : rows.at(-1)?.id
}
