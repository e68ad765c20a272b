import { sql } from 'kysely'

import type { Granularity } from '../statistics/granularity.ts'
import type { Db } from './db.ts'
import { noteFailures } from './destination-failures.ts'

/** Delta rows folded by one statement, and old roll-ups deleted by one. */
export const FOLD_BATCH = 5_000
const PRUNE_BATCH = 5_000

/**
 * Adds counted events to the roll-ups and deletes the deltas, in one statement: a reader sees each event once. Roll-ups
 * are written in the order of their key, so that two folds at once wait for each other instead of locking each other out.
 * Returns the number of deltas folded.
 */
export async function foldEvents(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from event_delta where ctid in (
        select ctid from event_delta limit ${FOLD_BATCH} for update skip locked)
      returning *
    ), minutes as materialized (
      select date_trunc('minute', at, 'UTC') as start, project_id, source_id, status,
        coalesce(rejection_reason, '') as rejection_reason, sum(events) as events
      from taken group by 1, 2, 3, 4, 5
    ), added as (
      insert into event_rollup (project_id, granularity, start, source_id, status, rejection_reason, events)
      select project_id, g.name, date_trunc(g.name, start, 'UTC'), source_id, status, rejection_reason, sum(events)
      from minutes cross join (values ('minute'), ('hour'), ('day')) as g (name)
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
      on conflict (project_id, granularity, start, source_id, status, rejection_reason)
        do update set events = event_rollup.events + excluded.events
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}

/** As `foldEvents`, of deliveries. Histograms add up bucket by bucket. Notes which destinations fail. */
export async function foldDeliveries(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from delivery_delta where ctid in (
        select ctid from delivery_delta limit ${FOLD_BATCH} for update skip locked)
      returning *
    ), minutes as materialized (
      select date_trunc('minute', at, 'UTC') as start, project_id, source_id, destination_id, connection_id,
        sum(succeeded) as succeeded, sum(failed) as failed, sum(throttled) as throttled,
        sum(attempts) as attempts, sum(retried) as retried
      from taken group by 1, 2, 3, 4, 5
    ), minute_latencies as materialized (
      select date_trunc('minute', at, 'UTC') as start, project_id, source_id, destination_id, connection_id,
        bucket, count(*) as attempts
      from taken cross join unnest(latencies) as bucket group by 1, 2, 3, 4, 5, 6
    ), granularity as (
      select name from (values ('minute'), ('hour'), ('day')) as g (name)
    ), latencies as (
      select project_id, name, start, source_id, destination_id, connection_id,
        array_agg(bucket order by bucket) as buckets, array_agg(attempts order by bucket) as counts
      from (
        select project_id, g.name, date_trunc(g.name, start, 'UTC') as start, source_id, destination_id,
          connection_id, bucket, sum(attempts)::bigint as attempts
        from minute_latencies cross join granularity g group by 1, 2, 3, 4, 5, 6, 7
      ) as buckets
      group by 1, 2, 3, 4, 5, 6
    ), counts as (
      select project_id, g.name, date_trunc(g.name, start, 'UTC') as start, source_id, destination_id, connection_id,
        sum(succeeded) as succeeded, sum(failed) as failed, sum(throttled) as throttled,
        sum(attempts) as attempts, sum(retried) as retried
      from minutes cross join granularity g group by 1, 2, 3, 4, 5, 6
    ), added as (
      insert into delivery_rollup as r (project_id, granularity, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, latency_buckets, latency_counts)
      select project_id, name, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, buckets, counts
      from counts left join latencies using (project_id, name, start, source_id, destination_id, connection_id)
      order by 1, 2, 3, 4, 5, 6
      on conflict (project_id, granularity, start, source_id, destination_id, connection_id) do update set
        succeeded = r.succeeded + excluded.succeeded, failed = r.failed + excluded.failed,
        throttled = r.throttled + excluded.throttled, attempts = r.attempts + excluded.attempts,
        retried = r.retried + excluded.retried,
        (latency_buckets, latency_counts) = (
          select array_agg(bucket order by bucket), array_agg(attempts order by bucket)
          from (
            select bucket, sum(attempts)::bigint as attempts
            from (
              select * from unnest(r.latency_buckets, r.latency_counts)
              union all
              select * from unnest(excluded.latency_buckets, excluded.latency_counts)
            ) as both_histograms (bucket, attempts)
            group by bucket
          ) as merged
        )
    ), noted as (${noteFailures}
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}

/** Deletes some of the roll-ups of a granularity that start before `before`. Returns whether there may be more. */
export async function pruneRollups(
  db: Db,
  granularity: Granularity,
  before: Date,
): Promise<boolean> {
  let isMore = false
  for (const table of ['event_rollup', 'delivery_rollup'] as const) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ctid in (
        select ctid from ${sql.table(table)}
        where granularity = ${granularity} and start < ${before}
        limit ${PRUNE_BATCH} for update skip locked)`.execute(db)
    isMore ||= numAffectedRows === BigInt(PRUNE_BATCH)
  }
  return isMore
}
