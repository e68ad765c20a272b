import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'
import type { Delivery } from '../read/deliveries.ts'

/** The columns that decide whether a delivery can be retried or cancelled. */
export type LockedDelivery = Pick<
  Delivery,
  | 'retentionClass'
  | 'id'
  | 'eventId'
  | 'connectionId'
  | 'destinationId'
  | 'projectId'
  | 'status'
  | 'leaseUntil'
  | 'completedAt'
>

/** Reads the deliveries that still exist, in the order of their ids, and locks them until the end of the transaction. */
export async function lockDeliveries(
  tx: Db,
  deliveries: readonly { retentionClass: number; id: string }[],
): Promise<LockedDelivery[]> {
  await withoutPruning(tx)
  const { rows } = await sql<LockedDelivery>`
    select class as "retentionClass", id, event_id as "eventId", connection_id as "connectionId", destination_id as "destinationId",
      project_id as "projectId", status, lease_until as "leaseUntil",
      completed_at as "completedAt"
    from delivery
    where class = any(${[...new Set(deliveries.map((delivery) => delivery.retentionClass))]}::int2[])
      and id = any(${deliveries.map(({ id }) => id)}::uuid[])
    order by id for update`.execute(tx)
  return rows
}
