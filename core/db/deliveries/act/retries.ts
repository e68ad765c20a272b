import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'

/** A delivery that is to be attempted once more, by somebody's wish. */
export interface Retry {
  retentionClass: number
  deliveryId: string
  projectId: string
  destinationId: string
  partition: number
  /** Its present status, and when it ended: it returns to these if the attempt fails. */
  status: string
  completedAt: Date | null
}

/** Retries of one organisation: a person's retry is due now, retries of an operation wait in their lanes. */
export interface RetryOptions {
  organisationId: string
  /** Null: by hand. */
  operationId: string | null
  now: Date
}

/**
 * Lets deliveries wait for an extra attempt outside `maxAttempts`, and stores the state to which they return if it fails; a
 * pending one returns to its time. Call it with the deliveries locked. If a worker has just claimed one, that attempt is
 * the wanted one.
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
      select * from unnest(${retries.map((retry) => retry.retentionClass)}::int2[],
        ${retries.map((retry) => retry.deliveryId)}::uuid[], ${retries.map((retry) => retry.projectId)}::uuid[],
        ${retries.map((retry) => retry.destinationId)}::uuid[], ${retries.map((retry) => retry.partition)}::int2[],
        ${retries.map((retry) => retry.status)}::text[], ${retries.map((retry) => retry.completedAt)}::timestamptz[])
      as t (class, id, project_id, destination_id, partition, resumes_as, resumes_at)
    ), changed as (
      update delivery d set status = 'pending', completed_at = null, lease_until = null, throttled_reason = null
      from input i where d.class = i.class and d.id = i.id
      returning i.*, d.connection_id, d.source_id, d.last_error_code, d.last_response_status
    ), unfailed as (
      delete from delivery_failed f using input i where f.delivery_id = i.id
    )
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, next_at, operation_id, connection_id, source_id, error_code, response_status, resumes_as, resumes_at)
    select i.id, i.class, ${organisationId}::uuid, i.project_id, i.destination_id, i.partition, 'pending',
      ${trigger}, ${operationId === null ? now : null}::timestamptz, ${operationId}::uuid, i.connection_id,
      i.source_id, i.last_error_code, i.last_response_status, i.resumes_as, i.resumes_at
    from changed i order by i.id
    on conflict (delivery_id) do update set
      status = 'pending', attempt_trigger = excluded.attempt_trigger, next_at = excluded.next_at, claimed_by = null,
      operation_id = excluded.operation_id, resumes_as = coalesce(delivery_waiting.resumes_as, excluded.resumes_as),
      resumes_at = case
        when delivery_waiting.resumes_as is not null then delivery_waiting.resumes_at
        when excluded.resumes_as <> 'pending' then excluded.resumes_at
        when delivery_waiting.claimed_by is null then delivery_waiting.next_at
      end
    where delivery_waiting.claimed_by is null or delivery_waiting.next_at <= ${now}::timestamptz`.execute(
    tx,
  )
}
