import { sql } from 'kysely'

import { firstIdAt } from '../../../ids.ts'
import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'
import { byIndexOnly } from '../../lists/index-only.ts'
import { LIST_CANCELLED, type Deleted } from './cancellations.ts'

/** Waiting rows that one step looks at. */
export const DOOMED_STEP_ROWS = 2_000

/** By then, the result of a delivery that was in flight during the deletion is written, and it may wait again. */
const LAST_WALK_MS = 60_000

/** A destination or connection that is being deleted: what waits for it is to be cancelled. */
export interface DoomedRoute {
  id: string
  destinationId: string
  /** Null: all that waits for the destination. */
  connectionId: string | null
}

export function doomedDestination(id: string): DoomedRoute {
  return { id, destinationId: id, connectionId: null }
}

export function doomedConnection(connection: { id: string; destinationId: string }): DoomedRoute {
  const { id, destinationId } = connection
  return { id, destinationId, connectionId: id }
}

/** To be called in the transaction that deletes them. */
export async function doomRoutes(tx: Db, routes: readonly DoomedRoute[], now: Date): Promise<void> {
  if (routes.length === 0) return
  const rows = routes.map((route) => ({
    id: route.id,
    destination_id: route.destinationId,
    connection_id: route.connectionId,
    after_id: firstIdAt(0),
    due_at: now,
  }))
  await tx.insertInto('doomed_route').values(rows).execute()
}

/** The one whose next step has been due the longest. */
export async function nextDoomedRoute(db: Db, now: Date): Promise<string | undefined> {
  const row = await db
    .selectFrom('doomed_route')
    .select('id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/**
 * Cancels a step of its waiting deliveries, in a transaction. A delivery in flight is sent and ends as it ends (decisions:
 * Delivery, "cancelled"); a last walk a minute later finds deliveries that a worker has put back since. Returns false when
 * there is nothing to do for now.
 */
export async function cancelStep(tx: Db, id: string, now: Date): Promise<boolean> {
  const route = await tx
    .selectFrom('doomed_route')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (route === undefined || route.due_at > now) return false
  const lastId = await cancelNext(tx, route, now)
  const change = tx.updateTable('doomed_route').where('id', '=', id)
  if (lastId !== undefined) {
    await change.set({ after_id: lastId, due_at: now }).execute()
    return true
  }
  if (route.is_last_walk) {
    await tx.deleteFrom('doomed_route').where('id', '=', id).execute()
  } else {
    const dueAt = new Date(now.getTime() + LAST_WALK_MS)
    await change.set({ after_id: firstIdAt(0), is_last_walk: true, due_at: dueAt }).execute()
  }
  return false
}

/** Returns the last id that was looked at if there may be more. */
async function cancelNext(
  tx: Db,
  route: { destination_id: string; connection_id: string | null; after_id: string },
  now: Date,
): Promise<string | undefined> {
  const deleted: Deleted =
    route.connection_id === null ? 'destination_deleted' : 'connection_deleted'
  await withoutPruning(tx)
  const { rows } = await byIndexOnly(tx, () =>
    sql<{ seen: number; lastId: string }>`
      with next as materialized (
        select delivery_id from delivery_waiting
        where destination_id = ${route.destination_id}::uuid and delivery_id > ${route.after_id}::uuid
        order by destination_id, delivery_id limit ${DOOMED_STEP_ROWS}
      ), gone as (
        delete from delivery_waiting w using next n
        where w.delivery_id = n.delivery_id and w.status <> 'in_flight'
          and (${route.connection_id}::uuid is null or w.connection_id = ${route.connection_id}::uuid)
        returning w.class, w.delivery_id
      ), changed as (
        update delivery d set status = 'cancelled', lease_until = null, throttled_reason = null, completed_at = ${now},
          last_error = ${deleted}
        from gone where d.class = gone.class and d.id = gone.delivery_id and d.status in ('pending', 'throttled')
        returning d.*
      ), listed as (${sql.raw(LIST_CANCELLED)})
      select count(*)::int as seen, max(delivery_id::text collate "C") as "lastId" from next`.execute(
      tx,
    ),
  )
  const [row] = rows
  return row?.seen === DOOMED_STEP_ROWS ? row.lastId : undefined
}
