import { sql } from 'kysely'

import type { Db } from '../db.ts'
import { withoutPruning } from '../pruning.ts'

/**
 * One step over a project's deliveries that wait although their event is older than `untilId`: they fail with
 * `expired`. Returns how many did, and the last id looked at, undefined when there is nothing more.
 * (decisions: Retention)
 */
export async function expireWaiting(
  db: Db,
  of: { projectId: string; untilId: string; afterId: string; watermark: string; now: Date },
  limit: number,
): Promise<{ expired: number; lastId: string | undefined }> {
  return await db.transaction().execute(async (tx) => {
    // Each is looked for by its key: to join them, the planner would read every delivery there is.
    const { rows } = await sql<{ class: number; id: string; isDue: boolean }>`
      select w.class, w.id, coalesce(d.event_id, d.id) < ${of.untilId}::uuid as "isDue"
      from (${waitingOf(of)} order by id limit ${limit}) w
      cross join lateral (select id, event_id from delivery where class = w.class and id = w.id offset 0) d
      order by w.id`.execute(tx)
    const due = rows.filter((row) => row.isDue)
    if (due.length > 0) await fail(tx, due, of.now)
    return { expired: due.length, lastId: rows.length < limit ? undefined : rows.at(-1)?.id }
  })
}

/** Waiting rows, and first attempts that never came back and have none yet: those are at or above the watermark. */
function waitingOf(of: { projectId: string; untilId: string; afterId: string; watermark: string }) {
  return sql`
    select class, id from (
      select class, delivery_id as id from delivery_waiting
      where project_id = ${of.projectId}::uuid and delivery_id > ${of.afterId}::uuid
      union
      select class, id from delivery
      where project_id = ${of.projectId}::uuid and id > ${of.afterId}::uuid and id >= ${of.watermark}::uuid
        and id < ${of.untilId}::uuid and status in ('pending', 'throttled', 'in_flight')
    ) as waiting`
}

async function fail(tx: Db, rows: readonly { class: number; id: string }[], now: Date) {
  await withoutPruning(tx)
  await sql`
    with input as materialized (
      select * from unnest(${rows.map((row) => row.class)}::int2[], ${rows.map((row) => row.id)}::uuid[]) as t (class, id)
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
