import { sql, type RawBuilder } from 'kysely'

import { GRANULARITIES, type Granularity } from '../../statistics/granularity.ts'
import type { Db } from '../connection/db.ts'
import { noteFailures } from '../deliveries/upkeep/destination-failures.ts'
import { byIndexOnly } from '../lists/index-only.ts'

/** Delta rows folded by one statement, and old roll-ups deleted by one. */
export const FOLD_BATCH = 5_000
const PRUNE_BATCH = 5_000

/** Where counts of a whole project have no source, destination and connection. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

/**
 * The granularity under which a project's counts are kept without their sources, destinations and connections, so that
 * what is asked for the most reads a row for each bucket.
 */
export function wholeOf(granularity: Granularity): string {
  return `${granularity} of all`
}

/** Each granularity twice: with whose the counts are, and of the whole project. */
const KEPT = sql`(values ${sql.join(
  GRANULARITIES.flatMap((one) => [
    sql`(${sql.lit(one)}, ${sql.lit(one)}, false)`,
    sql`(${sql.lit(wholeOf(one))}, ${sql.lit(one)}, true)`,
  ]),
)}) as g (name, unit, is_whole)`

/** Kept as the text of arrays: a dashboard reads hundreds of them, which a fold writes a few of. */
function histogramOf(row: string): RawBuilder<unknown> {
  const [buckets, counts] = [sql.ref(`${row}.latency_buckets`), sql.ref(`${row}.latency_counts`)]
  return sql`unnest(${buckets}::smallint[], ${counts}::bigint[])`
}

function whose(column: string): RawBuilder<unknown> {
  return sql`case when g.is_whole then ${sql.lit(NOBODY)}::uuid else ${sql.ref(column)} end`
}

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
      select project_id, g.name, date_trunc(g.unit, start, 'UTC'), ${whose('source_id')}, status, rejection_reason,
        sum(events)
      from minutes cross join ${KEPT}
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
    ), latencies as (
      select project_id, name, start, source_id, destination_id, connection_id,
        array_agg(bucket order by bucket)::text as buckets, array_agg(attempts order by bucket)::text as counts
      from (
        select project_id, g.name, date_trunc(g.unit, start, 'UTC') as start, ${whose('source_id')} as source_id,
          ${whose('destination_id')} as destination_id, ${whose('connection_id')} as connection_id, bucket,
          sum(attempts)::bigint as attempts
        from minute_latencies cross join ${KEPT} group by 1, 2, 3, 4, 5, 6, 7
      ) as buckets
      group by 1, 2, 3, 4, 5, 6
    ), counts as (
      select project_id, g.name, date_trunc(g.unit, start, 'UTC') as start, ${whose('source_id')} as source_id,
        ${whose('destination_id')} as destination_id, ${whose('connection_id')} as connection_id,
        sum(succeeded) as succeeded, sum(failed) as failed, sum(throttled) as throttled,
        sum(attempts) as attempts, sum(retried) as retried
      from minutes cross join ${KEPT} group by 1, 2, 3, 4, 5, 6
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
          select array_agg(bucket order by bucket)::text, array_agg(attempts order by bucket)::text
          from (
            select bucket, sum(attempts)::bigint as attempts
            from (
              select * from ${histogramOf('r')}
              union all
              select * from ${histogramOf('excluded')}
            ) as both_histograms (bucket, attempts)
            group by bucket
          ) as merged
        )
    ), noted as (${noteFailures}
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}

/**
 * Deletes some of the roll-ups of a granularity that start before `before`, within a transaction. Returns whether there
 * may be more. By index only: how few are that old the planner does not know, and would read all that is kept instead,
 * every minute (150 ms of a core where there are 250,000).
 */
export async function pruneRollups(
  tx: Db,
  granularity: Granularity,
  before: Date,
): Promise<boolean> {
  return await byIndexOnly(tx, async () => {
    let isMore = false
    for (const table of ['event_rollup', 'delivery_rollup', 'backlog_rollup'] as const) {
      for (const kept of [granularity, wholeOf(granularity)]) {
        const { numAffectedRows } = await sql`
          delete from ${sql.table(table)} where ctid = any(array(
            select ctid from ${sql.table(table)} where granularity = ${kept} and start < ${before}
            order by start limit ${PRUNE_BATCH} for update skip locked))`.execute(tx)
        isMore ||= numAffectedRows === BigInt(PRUNE_BATCH)
      }
    }
    return isMore
  })
}
