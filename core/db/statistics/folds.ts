import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import { noteFailures } from '../deliveries/upkeep/destination-failures.ts'
import { histogramOfEach, joinHistograms } from './latency-lists.ts'

/** Delta rows folded by one statement. The more there are, the more belong to one minute of one destination. */
export const FOLD_BATCH = 20_000

/**
 * Adds counted events to their minutes and deletes the deltas, in one statement: a reader sees each event once. Minutes
 * are written in the order of their key, so that two folds at once wait for each other instead of locking each other out.
 * Returns the number of deltas folded.
 */
export async function foldEvents(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from event_delta where ctid = any(array(
        select ctid from event_delta limit ${FOLD_BATCH} for update skip locked))
      returning *
    ), added as (
      insert into event_minute as m (project_id, start, source_id, status, rejection_reason, events)
      select project_id, date_trunc('minute', at, 'UTC'), source_id, status, coalesce(rejection_reason, ''), sum(events)
      from taken group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (project_id, start, source_id, status, rejection_reason)
        do update set events = m.events + excluded.events
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}

/** As `foldEvents`, of deliveries, with a histogram for each minute. Notes which destinations fail. */
export async function foldDeliveries(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from delivery_delta where ctid = any(array(
        select ctid from delivery_delta limit ${FOLD_BATCH} for update skip locked))
      returning *
    ), minutes as materialized (
      select project_id, date_trunc('minute', at, 'UTC') as start, source_id, destination_id, connection_id,
        sum(succeeded) as succeeded, sum(failed) as failed, sum(throttled) as throttled,
        sum(attempts) as attempts, sum(retried) as retried,
        string_agg(nullif(btrim(latencies::text, '{}'), ''), ',') as latencies
      from taken group by 1, 2, 3, 4, 5
    ), added as (
      insert into delivery_minute as m (project_id, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, latency_buckets, latency_counts)
      select project_id, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, buckets, counts
      from minutes cross join lateral (${histogramOfEach(sql`latencies`)}) as histogram
      order by 1, 2, 3, 4, 5
      on conflict (project_id, start, source_id, destination_id, connection_id) do update set
        succeeded = m.succeeded + excluded.succeeded, failed = m.failed + excluded.failed,
        throttled = m.throttled + excluded.throttled, attempts = m.attempts + excluded.attempts,
        retried = m.retried + excluded.retried, ${joinHistograms('m')}
    ), noted as (${noteFailures}
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}
