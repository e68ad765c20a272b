import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'

/** Lists what the CTE `changed` has cancelled, by what its last attempt came to, among what ended without success. */
export const LIST_CANCELLED = `
  insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status,
    error_code, response_status)
  select id, class, project_id, destination_id, connection_id, source_id, 'cancelled', last_error_code,
    last_response_status
  from changed
  on conflict (delivery_id) do update set
    status = 'cancelled', error_code = excluded.error_code, response_status = excluded.response_status`

/** Why a delivery was cancelled without anybody's wish, as its last error says. */
export type Deleted = 'destination_deleted' | 'connection_deleted'

/** Cancels waiting deliveries. Call it with them locked. A delivery that a worker has just claimed still goes out, once. */
export async function cancelLocked(
  tx: Db,
  deliveries: readonly { retentionClass: number; id: string }[],
  now: Date,
): Promise<void> {
  if (deliveries.length === 0) return
  await withoutPruning(tx)
  await sql`
    with input as materialized (
      select * from unnest(${deliveries.map((delivery) => delivery.retentionClass)}::int2[],
        ${deliveries.map(({ id }) => id)}::uuid[]) as t (class, id)
    ), changed as (
      update delivery d set status = 'cancelled', lease_until = null, throttled_reason = null, completed_at = ${now}
      from input i where d.class = i.class and d.id = i.id
      returning d.*
    ), ended as (${sql.raw(LIST_CANCELLED)})
    delete from delivery_waiting w using input i where w.delivery_id = i.id`.execute(tx)
}
