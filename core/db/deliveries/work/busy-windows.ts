import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'

/** A destination answered that it is busy, and is left alone. After `untilMs` it is asked one request at a time. */
export interface BusyWindow {
  sinceMs: number
  untilMs: number
  responseStatus: number
}

/** Reads the open busy windows by the destination's id. */
export async function findBusyWindows(
  db: Db,
  destinationIds: readonly string[],
): Promise<Map<string, BusyWindow>> {
  if (destinationIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('destination_busy')
    .selectAll()
    .where('destination_id', 'in', destinationIds)
    .execute()
  return new Map(
    rows.map((row) => [
      row.destination_id,
      {
        sinceMs: row.since.getTime(),
        untilMs: row.until.getTime(),
        responseStatus: row.response_status,
      },
    ]),
  )
}

/** Null ends the window. A destination that was deleted meanwhile has none. */
export async function writeBusyWindow(
  db: Db,
  destinationId: string,
  window: BusyWindow | null,
): Promise<void> {
  if (window === null) {
    await db.deleteFrom('destination_busy').where('destination_id', '=', destinationId).execute()
    return
  }
  await sql`
    insert into destination_busy (destination_id, since, until, response_status)
    select id, ${new Date(window.sinceMs)}::timestamptz, ${new Date(window.untilMs)}::timestamptz,
      ${window.responseStatus}::int2
    from destination where id = ${destinationId}::uuid for key share
    on conflict (destination_id) do update set
      since = excluded.since, until = excluded.until, response_status = excluded.response_status`.execute(
    db,
  )
}

/**
 * Ends a destination's busy window, because its answer no longer counts. Deliveries that wait for the end of the window
 * are due now, except rows that a worker is claiming. Call it in the transaction of the change.
 */
export async function endBusyWindow(
  tx: Db,
  { id, projectId }: { id: string; projectId: string },
  now: Date,
): Promise<void> {
  await writeBusyWindow(tx, id, null)
  await sql`
    update delivery_waiting set next_at = ${now}::timestamptz
    where delivery_id in (
      select delivery_id from delivery_waiting
      where project_id = ${projectId}::uuid and status = 'throttled' and next_at > ${now}::timestamptz
        and claimed_by is null and destination_id = ${id}::uuid
      for update skip locked)`.execute(tx)
}
