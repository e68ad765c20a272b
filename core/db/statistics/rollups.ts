import { sql, type RawBuilder } from 'kysely'

import { GRANULARITIES, type Granularity } from '../../statistics/granularity.ts'
import type { Db } from '../connection/db.ts'
import { byIndexOnly } from '../lists/index-only.ts'
import { histogramOf, mergeHistograms } from './latency-lists.ts'

/** Minutes rolled up by one statement, and old roll-ups deleted by one. */
export const ROLL_UP_BATCH = 10_000
const PRUNE_BATCH = 5_000

/** Where counts of a whole project have no source, destination and connection. */
export const NO_OWNER = sql.lit('00000000-0000-0000-0000-000000000000')

/**
 * The granularity under which a project's counts are kept as a whole, so that what is asked for the most reads a row for
 * each bucket. A project with a single source, or connection, has these rows alone, with the ids of their owner.
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
)}) as g (granularity, unit, is_whole)`

/** Takes minutes in the order of their projects, so that all that are there of a project become few rows. */
function taken(table: string, before: Date): RawBuilder<unknown> {
  return sql`
    taken as (
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where start < ${before}
        order by project_id, start limit ${ROLL_UP_BATCH} for update skip locked))
      returning *
    )`
}

/** The projects of what was taken that have at most one of `owners`. */
function single(owners: string): RawBuilder<unknown> {
  return sql`
    single as (
      select project_id from (select distinct project_id from taken) as p
      where (select count(*) from (
        select from ${sql.table(owners)} o where o.project_id = p.project_id limit 2) as found) < 2
    )`
}

/** The rows to be kept of each that was taken: \`isSingle\` tells of its project. */
const isSingle = sql`t.project_id in (select project_id from single)`
const isKept = sql`(g.is_whole or not is_single)`

function ownerOf(column: string): RawBuilder<unknown> {
  return sql`case when g.is_whole and not is_single then ${NO_OWNER}::uuid else ${sql.ref(column)} end`
}

/**
 * Moves the minutes that began before `before` to the roll-ups, in one statement: a reader sees each event once. Roll-ups
 * are written in the order of their key, as minutes are. Returns the number of rows moved.
 */
export async function rollUpEvents(db: Db, before: Date): Promise<number> {
  const { rows } = await sql<{ moved: number }>`
    with ${taken('event_minute', before)}, ${single('source')}, minutes as (
      select t.*, ${isSingle} as is_single from taken t
    ), added as (
      insert into event_rollup as r (project_id, granularity, start, source_id, status, rejection_reason, events)
      select project_id, g.granularity, date_trunc(g.unit, start, 'UTC'), ${ownerOf('source_id')}, status, rejection_reason,
        sum(events)
      from minutes cross join ${KEPT} where ${isKept}
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
      on conflict (project_id, granularity, start, source_id, status, rejection_reason)
        do update set events = r.events + excluded.events
    )
    select count(*)::int as moved from taken`.execute(db)
  return rows[0]?.moved ?? 0
}

/** As `rollUpEvents`, of deliveries. Histograms add up bucket by bucket. */
export async function rollUpDeliveries(db: Db, before: Date): Promise<number> {
  const { rows } = await sql<{ moved: number }>`
    with ${taken('delivery_minute', before)}, ${single('connection')}, minutes as (
      select t.*, ${isSingle} as is_single from taken t
    ), sums as (
      select project_id, g.granularity, date_trunc(g.unit, start, 'UTC') as start, ${ownerOf('source_id')} as source_id,
        ${ownerOf('destination_id')} as destination_id, ${ownerOf('connection_id')} as connection_id,
        sum(succeeded) as succeeded, sum(failed) as failed, sum(throttled) as throttled,
        sum(attempts) as attempts, sum(retried) as retried,
        string_agg(latency_buckets, '') as listed_buckets, string_agg(latency_counts, '') as listed_counts
      from minutes cross join ${KEPT} where ${isKept}
      group by 1, 2, 3, 4, 5, 6
    ), added as (
      insert into delivery_rollup as r (project_id, granularity, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, latency_buckets, latency_counts)
      select project_id, granularity, start, source_id, destination_id, connection_id,
        succeeded, failed, throttled, attempts, retried, buckets, counts
      from sums cross join lateral (${histogramOf(sql`listed_buckets`, sql`listed_counts`)}) as histogram
      order by 1, 2, 3, 4, 5, 6
      on conflict (project_id, granularity, start, source_id, destination_id, connection_id) do update set
        succeeded = r.succeeded + excluded.succeeded, failed = r.failed + excluded.failed,
        throttled = r.throttled + excluded.throttled, attempts = r.attempts + excluded.attempts,
        retried = r.retried + excluded.retried, ${mergeHistograms('r')}
    )
    select count(*)::int as moved from taken`.execute(db)
  return rows[0]?.moved ?? 0
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
