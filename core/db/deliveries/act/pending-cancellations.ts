import { sql } from 'kysely'

import { firstIdAt } from '../../../ids.ts'
import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'
import { byIndexOnly } from '../../lists/index-only.ts'
import { LIST_CANCELLED, type Deleted } from './cancellations.ts'

/** Waiting rows that one step looks at. */
export const CANCELLATION_STEP_ROWS = 2_000

/** By then, the result of a delivery that was in flight during the deletion is written, and it may wait again. */
const LAST_WALK_MS = 60_000

/** A destination or connection that is being deleted: the deliveries that wait for it are to be cancelled. */
export interface PendingCancellation {
  id: string
  destinationId: string
  /** Null: every delivery that waits for the destination. */
  connectionId: string | null
}

export function cancellationForDestination(id: string): PendingCancellation {
  return { id, destinationId: id, connectionId: null }
}

export function cancellationForConnection(connection: {
  id: string
  destinationId: string
}): PendingCancellation {
  const { id, destinationId } = connection
  return { id, destinationId, connectionId: id }
}

/** Call it in the transaction that deletes the resources. */
export async function addPendingCancellations(
  tx: Db,
  pending: readonly PendingCancellation[],
  now: Date,
): Promise<void> {
  if (pending.length === 0) return
  const rows = pending.map(({ id, destinationId, connectionId }) => ({
    id,
    destination_id: destinationId,
    connection_id: connectionId,
    after_id: firstIdAt(0),
    due_at: now,
  }))
  await tx.insertInto('pending_cancellation').values(rows).execute()
}

/** The cancellation whose next step has been due the longest. */
export async function nextPendingCancellation(db: Db, now: Date): Promise<string | undefined> {
  const row = await db
    .selectFrom('pending_cancellation')
    .select('id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/**
 * Cancels a step of the waiting deliveries, in a transaction. A delivery in flight is sent and ends as it ends (decisions:
 * Delivery, "cancelled"); a last walk a minute later finds deliveries that a worker has put back since. Returns false when
 * there is nothing to do for now.
 */
export async function cancelStep(tx: Db, id: string, now: Date): Promise<boolean> {
  const pending = await tx
    .selectFrom('pending_cancellation')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (pending === undefined || pending.due_at > now) return false
  const lastId = await cancelNext(tx, pending, now)
  const change = tx.updateTable('pending_cancellation').where('id', '=', id)
  if (lastId !== undefined) {
    await change.set({ after_id: lastId, due_at: now }).execute()
    return true
  }
  if (pending.is_last_walk) {
    await tx.deleteFrom('pending_cancellation').where('id', '=', id).execute()
  } else {
    const dueAt = new Date(now.getTime() + LAST_WALK_MS)
    await change.set({ after_id: firstIdAt(0), is_last_walk: true, due_at: dueAt }).execute()
  }
  return false
}

/** Returns the last id that was looked at if there may be more. */
async function cancelNext(
  tx: Db,
  pending: { destination_id: string; connection_id: string | null; after_id: string },
  now: Date,
): Promise<string | undefined> {
  const deleted: Deleted =
    pending.connection_id === null ? 'destination_deleted' : 'connection_deleted'
  await withoutPruning(tx)
  const { rows } = await byIndexOnly(tx, () =>
    sql<{ seen: number; lastId: string }>`
      with next as materialized (
        select delivery_id from delivery_waiting
        where destination_id = ${pending.destination_id}::uuid and delivery_id > ${pending.after_id}::uuid
        order by destination_id, delivery_id limit ${CANCELLATION_STEP_ROWS}
      ), gone as (
        delete from delivery_waiting w using next n
        where w.delivery_id = n.delivery_id and w.status <> 'in_flight'
          and (${pending.connection_id}::uuid is null or w.connection_id = ${pending.connection_id}::uuid)
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
  return row?.seen === CANCELLATION_STEP_ROWS ? row.lastId : undefined
}
