import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** The events of one day in one class. */
export interface DayOfClass {
  retentionClass: number
  fromId: string
  untilId: string
}

/** Events of a day with a delivery that still waits: in `delivery_waiting`, or a first attempt at or above `watermark`. */
export async function eventsWaiting(
  db: Db,
  day: DayOfClass,
  { watermark, limit }: { watermark: string; limit: number },
): Promise<{ id: string; organisationId: string }[]> {
  const { rows } = await sql<{ id: string; organisationId: string }>`
    select e.id, e.organisation_id as "organisationId" from (
      select d.event_id from delivery_waiting w join delivery d on d.class = w.class and d.id = w.delivery_id
      where w.class = ${day.retentionClass} and w.delivery_id >= ${day.fromId}::uuid
        and d.event_id >= ${day.fromId}::uuid and d.event_id < ${day.untilId}::uuid
      union
      select event_id from delivery
      where class = ${day.retentionClass} and id >= ${watermark}::uuid and status in ('pending', 'throttled', 'in_flight')
        and event_id >= ${day.fromId}::uuid and event_id < ${day.untilId}::uuid
      limit ${limit}
    ) as waiting join event e on e.class = ${day.retentionClass} and e.id = waiting.event_id`.execute(
    db,
  )
  return rows
}

/** A project's events of a day that are not older than `cutoffId`, behind `afterId`. */
export async function eventsKept(
  db: Db,
  day: DayOfClass,
  of: { projectId: string; cutoffId: string; afterId: string; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from event
    where class = ${day.retentionClass} and project_id = ${of.projectId}::uuid and id >= ${day.fromId}::uuid
      and id < ${day.untilId}::uuid and id >= ${of.cutoffId}::uuid and id > ${of.afterId}::uuid
    order by id limit ${of.limit}`.execute(db)
  return rows.map((row) => row.id)
}

/**
 * Moves events with their deliveries and attempts to another class. An event with a delivery in flight stays, because the
 * result names the class. Returns the number of moved events.
 */
export async function moveEvents(
  db: Db,
  eventIds: readonly string[],
  move: { from: number; to: number; now: Date },
): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows: events } = await sql<{ id: string }>`
      select id from event where class = ${move.from} and id = any(${eventIds}::uuid[])
      order by id for update`.execute(tx)
    const { rows: deliveries } = await sql<{ id: string; eventId: string; isLeased: boolean }>`
      select id, event_id as "eventId", coalesce(lease_until > ${move.now}, false) as "isLeased" from delivery
      where class = ${move.from} and event_id = any(${eventIds}::uuid[])
      order by id for update`.execute(tx)
    const claimed = await claimedOf(tx, deliveries)
    const busy = new Set(
      deliveries.flatMap((row) => (row.isLeased || claimed.has(row.id) ? [row.eventId] : [])),
    )
    const moving = events.map(({ id }) => id).filter((id) => !busy.has(id))
    const theirs = deliveries.filter((row) => !busy.has(row.eventId)).map(({ id }) => id)
    await moveRows(tx, { table: 'attempt', key: 'delivery_id', ids: theirs }, move)
    await moveRows(tx, { table: 'delivery', key: 'id', ids: theirs }, move)
    await moveRows(tx, { table: 'event', key: 'id', ids: moving }, move)
    for (const table of ['delivery_waiting', 'delivery_failed']) {
      await sql`
        update ${sql.table(table)} set class = ${move.to} where delivery_id = any(${theirs}::uuid[])`.execute(
        tx,
      )
    }
    return moving.length
  })
}

/**
 * Returns the locked deliveries that a worker has or is claiming. It never waits for a worker, which locks in the other
 * order; the waiting rows of the others stay locked.
 */
async function claimedOf(tx: Db, deliveries: readonly { id: string }[]): Promise<Set<string>> {
  const ids = deliveries.map(({ id }) => id)
  const { rows: all } = await sql<{ id: string }>`
    select delivery_id as id from delivery_waiting where delivery_id = any(${ids}::uuid[])`.execute(
    tx,
  )
  const { rows: free } = await sql<{ id: string; claimedBy: string | null }>`
    select delivery_id as id, claimed_by as "claimedBy" from delivery_waiting
    where delivery_id = any(${ids}::uuid[]) for update skip locked`.execute(tx)
  const unclaimed = new Set(free.flatMap((row) => (row.claimedBy === null ? [row.id] : [])))
  return new Set(all.flatMap(({ id }) => (unclaimed.has(id) ? [] : [id])))
}

/** The class is the partition key: a row leaves one partition and enters another, with every column it has. */
async function moveRows(
  tx: Db,
  what: { table: string; key: string; ids: readonly string[] },
  { from, to }: { from: number; to: number },
): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${what.table}::regclass and attnum > 0 and not attisdropped and attname <> 'class'
    order by attnum`.execute(tx)
  const columns = sql.join(rows.map(({ name }) => sql.ref(name)))
  await sql`
    with gone as (
      delete from ${sql.table(what.table)} where class = ${from} and ${sql.ref(what.key)} = any(${what.ids}::uuid[])
      returning *
    )
    insert into ${sql.table(what.table)} (class, ${columns}) select ${to}::int2, ${columns} from gone`.execute(
    tx,
  )
}
