import { sql } from 'kysely'

import type { Db } from '../db.ts'
import { withoutPruning } from '../pruning.ts'

/** A delivery that is to be attempted once more, by somebody's wish. */
export interface Retry {
  class: number
  deliveryId: string
  projectId: string
  destinationId: string
  partition: number
}

/** Of one organisation: one that a person asked for is due now, those of an operation wait in their lanes. */
export interface RetryOptions {
  organisationId: string
  /** Null: by hand. */
  operationId: string | null
  now: Date
}

/**
 * Puts deliveries back to waiting, outside their budget of attempts. Call it with the deliveries locked. What a worker
 * has just taken from its lane stays with it: that is the attempt that was asked for.
 */
export async function makeRetries(
  tx: Db,
  retries: readonly Retry[],
  { organisationId, operationId, now }: RetryOptions,
): Promise<void> {
  if (retries.length === 0) return
  await withoutPruning(tx)
  const trigger = operationId === null ? 'manual' : 'bulk'
  await sql`
    with input as materialized (
      select * from unnest(${retries.map((retry) => retry.class)}::int2[],
        ${retries.map((retry) => retry.deliveryId)}::uuid[], ${retries.map((retry) => retry.projectId)}::uuid[],
        ${retries.map((retry) => retry.destinationId)}::uuid[], ${retries.map((retry) => retry.partition)}::int2[])
      as t (class, id, project_id, destination_id, partition)
    ), changed as (
      update delivery d set status = 'pending', completed_at = null, lease_until = null, throttled_reason = null
      from input i where d.class = i.class and d.id = i.id
      returning i.*, d.connection_id, d.source_id, d.last_error_code, d.last_response_status
    ), unfailed as (
      delete from delivery_failed f using input i where f.delivery_id = i.id
    )
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, next_at, operation_id, connection_id, source_id, error_code, response_status)
    select i.id, i.class, ${organisationId}::uuid, i.project_id, i.destination_id, i.partition, 'pending',
      ${trigger}, ${operationId === null ? now : null}::timestamptz, ${operationId}::uuid, i.connection_id,
      i.source_id, i.last_error_code, i.last_response_status
    from changed i order by i.id
    on conflict (delivery_id) do update set
      status = 'pending', attempt_trigger = excluded.attempt_trigger, next_at = excluded.next_at, claimed_by = null,
      operation_id = excluded.operation_id
    where delivery_waiting.claimed_by is null or delivery_waiting.next_at <= ${now}::timestamptz`.execute(
    tx,
  )
}
