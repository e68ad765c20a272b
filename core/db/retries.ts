import { sql, type RawBuilder } from 'kysely'

import type { Db } from './db.ts'

/** A delivery that is to be attempted now, by a person's wish. */
export interface Retry {
  class: number
  deliveryId: string
  organisationId: string
  projectId: string
  destinationId: string
  partition: number
  now: Date
}

/** Puts a delivery back to waiting, due now, outside its budget of attempts. Call it with the delivery locked. */
export async function retryNow(db: Db, retry: Retry): Promise<void> {
  await sql`
    with changed as (
      update delivery set status = 'pending', completed_at = null, lease_until = null, throttled_reason = null
      where class = ${retry.class} and id = ${retry.deliveryId}
    ), unfailed as (
      delete from delivery_failed where delivery_id = ${retry.deliveryId}
    )
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, next_at)
    values (${retry.deliveryId}, ${retry.class}, ${retry.organisationId}, ${retry.projectId},
      ${retry.destinationId}, ${retry.partition}, 'pending', 'manual', ${retry.now})
    on conflict (delivery_id) do update set
      status = 'pending', attempt_trigger = 'manual', next_at = excluded.next_at, claimed_by = null`.execute(
    db,
  )
}

/** What is about to be deleted, with the deliveries that wait for it. */
export type Doomed =
  | { kind: 'project'; id: string }
  | { kind: 'destination'; id: string; projectId: string }
  | { kind: 'connection'; id: string; destinationId: string; projectId: string }

/**
 * Cancels what waits for something that is deleted in the same transaction; what a worker has in hand goes out and
 * ends as it ends. (decisions: Delivery, "cancelled")
 */
export async function cancelWaiting(db: Db, doomed: Doomed, now: Date): Promise<void> {
  await sql`
    with gone as (
      delete from delivery_waiting w where ${waitsFor(doomed)} and w.status <> 'in_flight'
      returning w.class, w.delivery_id
    )
    update delivery d set status = 'cancelled', lease_until = null, completed_at = ${now}
    from gone where d.class = gone.class and d.id = gone.delivery_id
      and d.status in ('pending', 'throttled')`.execute(db)
}

function waitsFor(doomed: Doomed): RawBuilder<unknown> {
  switch (doomed.kind) {
    case 'project':
      return sql`w.project_id = ${doomed.id}`
    case 'destination':
      return sql`w.project_id = ${doomed.projectId} and w.destination_id = ${doomed.id}`
    case 'connection':
      return sql`w.project_id = ${doomed.projectId} and w.destination_id = ${doomed.destinationId}
        and exists (select from delivery d
          where d.class = w.class and d.id = w.delivery_id and d.connection_id = ${doomed.id})`
  }
}
