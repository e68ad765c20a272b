import { sql } from 'kysely'

import { uuidArray } from '../connection/binary-arrays.ts'
import { eachPartition } from '../connection/day-partitions.ts'
import type { Db } from '../connection/db.ts'
import { withoutPruning } from '../connection/partition-pruning.ts'
import { byIndexOnly } from '../lists/index-only.ts'

interface WaitingDelivery {
  retentionClass: number
  id: string
  projectId: string
}

/**
 * Reads a step of all waiting deliveries, by their ids, and fails those whose event is older than their project's id in
 * `untilIds` with `expired`. Returns how many failed, and the last id; undefined when there are no more.
 * (decisions: Retention)
 */
export async function expireWaiting(
  db: Db,
  of: { untilIds: ReadonlyMap<string, string>; afterId: string; watermark: string; now: Date },
  limit: number,
): Promise<{ expired: number; lastId: string | undefined }> {
  const latest = [...of.untilIds.values()].reduce((last, id) => (id > last ? id : last), '')
  if (latest === '') return { expired: 0, lastId: undefined }
  const rows = await nextWaiting(db, { ...of, untilId: latest }, limit)
  const eventIds = await eventIdsOf(db, rows)
  const due = rows.filter(({ id, projectId }) => {
    const eventId = eventIds.get(id)
    const untilId = of.untilIds.get(projectId)
    return eventId !== undefined && untilId !== undefined && eventId < untilId
  })
  if (due.length > 0) await db.transaction().execute((tx) => fail(tx, due, of.now))
  return { expired: due.length, lastId: rows.length < limit ? undefined : rows.at(-1)?.id }
}

/**
 * Waiting rows, and first attempts that never came back and have none yet: those are at or above the watermark. In the
 * order of an index, so that no step reads what lies behind it.
 */
async function nextWaiting(
  db: Db,
  of: { untilId: string; afterId: string; watermark: string },
  limit: number,
): Promise<WaitingDelivery[]> {
  const { rows } = await db.transaction().execute((tx) =>
    byIndexOnly(tx, () =>
      sql<WaitingDelivery>`
        select class as "retentionClass", id, project_id as "projectId" from (
          (select class, delivery_id as id, project_id from delivery_waiting
          where delivery_id > ${of.afterId}::uuid order by delivery_id limit ${limit})
          union
          (select class, id, project_id from delivery
          where id > ${of.afterId}::uuid and id >= ${of.watermark}::uuid and id < ${of.untilId}::uuid
            and status in ('pending', 'throttled', 'in_flight')
          order by id limit ${limit})
        ) as waiting
        order by id limit ${limit}`.execute(tx),
    ),
  )
  return rows
}

/**
 * The event of each delivery, or itself where it has none. Looked for by its key in its day: to join them, the planner
 * would read every delivery there is.
 */
async function eventIdsOf(db: Db, rows: readonly WaitingDelivery[]): Promise<Map<string, string>> {
  const eventIds = new Map<string, string>()
  await eachPartition('delivery', rows, {
    placeOf: (row) => row,
    async run(table, group) {
      const ids = uuidArray(group.map((row) => row.id))
      const { rows: found } = await db.transaction().execute((tx) =>
        byIndexOnly(tx, () =>
          sql<{ id: string; eventId: string }>`
            select id, coalesce(event_id, id) as "eventId" from ${sql.table(table)}
            where class = ${group[0]?.retentionClass} and id = any(${ids}::uuid[])`.execute(tx),
        ),
      )
      for (const { id, eventId } of found) eventIds.set(id, eventId)
    },
  })
  return eventIds
}

async function fail(tx: Db, rows: readonly { retentionClass: number; id: string }[], now: Date) {
  await withoutPruning(tx)
  await sql`
    with input as materialized (
      select * from unnest(${rows.map((row) => row.retentionClass)}::int2[], ${rows.map((row) => row.id)}::uuid[]) as t (class, id)
    ), changed as (
      update delivery d set status = 'failed', lease_until = null, throttled_reason = null, last_error = 'expired',
        last_error_code = 'expired', completed_at = ${now}
      from input i
      where d.class = i.class and d.id = i.id and d.status in ('pending', 'throttled', 'in_flight')
      returning d.*
    ), done as (
      delete from delivery_waiting w using changed c where w.delivery_id = c.id
    )
    insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, error_code)
    select id, class, project_id, destination_id, connection_id, source_id, 'expired' from changed
    on conflict (delivery_id) do update set status = 'failed', error_code = excluded.error_code,
      response_status = null`.execute(tx)
}
