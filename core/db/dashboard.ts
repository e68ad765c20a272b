import { sql, type RawBuilder } from 'kysely'

import type { Buckets } from '../statistics/granularity.ts'
import type { Histogram } from '../statistics/histogram.ts'
import type { Db } from './db.ts'

export type DashboardGroup = 'source' | 'destination' | 'connection' | 'rejectionReason'

/** Which counts of a project are asked for. */
export interface DashboardFilter {
  projectId: string
  buckets: Buckets
  sourceId: string | undefined
  destinationId: string | undefined
  connectionId: string | undefined
  groupBy: DashboardGroup | undefined
  /** Rows read at most. */
  limit: number
}

/** Counts of one bucket and group; what is folded and what is not come apart. `group` is empty without groups. */
interface Counted {
  startMs: number
  group: string
}

export interface EventCounts extends Counted {
  received: number
  filtered: number
  unmatched: number
  rejected: number
}

export interface DeliveryCounts extends Counted {
  succeeded: number
  failed: number
  throttled: number
  attempts: number
  retried: number
  latencies: Histogram
}

const EVENT_GROUP = {
  source: sql`source_id::text`,
  rejectionReason: sql`rejection_reason`,
}

const DELIVERY_GROUP = {
  source: sql`source_id::text`,
  destination: sql`destination_id::text`,
  connection: sql`connection_id::text`,
}

const NO_GROUP = sql`''::text`

/** Events know a source and why they were rejected; by anything else there are none. */
export async function readEventCounts(db: Db, filter: DashboardFilter): Promise<EventCounts[]> {
  const { groupBy, sourceId } = filter
  if (filter.destinationId !== undefined || filter.connectionId !== undefined) return []
  if (groupBy === 'destination' || groupBy === 'connection') return []
  const group = groupBy === undefined ? NO_GROUP : EVENT_GROUP[groupBy]
  const wanted = [
    ...equal('source_id', sourceId),
    ...(groupBy === 'rejectionReason' ? [sql`status = 'rejected'`] : []),
  ]
  const { rows } = await sql<Omit<EventCounts, 'startMs'> & { start: Date }>`
    select start, ${group} as "group",
      ${eventsOf('received')}, ${eventsOf('filtered')}, ${eventsOf('unmatched')}, ${eventsOf('rejected')}
    from (
      select true as is_folded, start, source_id, status, rejection_reason, events
      from event_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
      union all
      select false, ${unfoldedStart(filter)}, source_id, status, coalesce(rejection_reason, ''), events
      from event_delta where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    ) as counted
    group by is_folded, start, "group" limit ${filter.limit}`.execute(db)
  return rows.map(({ start, ...row }) => ({ ...row, startMs: start.getTime() }))
}

/** One statement, so that a delta which is folded meanwhile is read once. */
export async function readDeliveryCounts(
  db: Db,
  filter: DashboardFilter,
): Promise<DeliveryCounts[]> {
  const { groupBy } = filter
  if (groupBy === 'rejectionReason') return []
  const group = groupBy === undefined ? NO_GROUP : DELIVERY_GROUP[groupBy]
  const wanted = [
    ...equal('source_id', filter.sourceId),
    ...equal('destination_id', filter.destinationId),
    ...equal('connection_id', filter.connectionId),
  ]
  type Row = Omit<DeliveryCounts, 'startMs' | 'latencies'> & {
    start: Date
    buckets: number[] | null
    counts: number[] | null
  }
  const { rows } = await sql<Row>`
    with counted as materialized (
      select true as is_folded, start, ${group} as "group", succeeded, failed, throttled, attempts, retried,
        latency_buckets as buckets, latency_counts as counts
      from delivery_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
      union all
      select false, ${unfoldedStart(filter)}, ${group}, succeeded, failed, throttled, attempts, retried, latencies, null
      from delivery_delta where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    ), latencies as (
      select is_folded, start, "group", array_agg(bucket) as buckets, array_agg(attempts) as counts
      from (
        select is_folded, start, "group", bucket, sum(coalesce(l.attempts, 1))::float8 as attempts
        from counted cross join unnest(buckets, counts) as l (bucket, attempts) group by 1, 2, 3, 4
      ) as by_bucket
      group by 1, 2, 3
    ), outcomes as (
      select is_folded, start, "group", sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed,
        sum(throttled)::float8 as throttled, sum(attempts)::float8 as attempts, sum(retried)::float8 as retried
      from counted group by 1, 2, 3
    )
    select start, "group", succeeded, failed, throttled, attempts, retried, buckets, counts
    from outcomes left join latencies using (is_folded, start, "group") limit ${filter.limit}`.execute(
    db,
  )
  return rows.map(({ start, buckets, counts, ...row }) => ({
    ...row,
    startMs: start.getTime(),
    latencies: new Map(buckets?.map((bucket, n) => [bucket, counts?.[n] ?? 0])),
  }))
}

function eventsOf(status: string): RawBuilder<unknown> {
  return sql`coalesce(sum(events) filter (where status = ${status}), 0)::float8 as ${sql.ref(status)}`
}

function folded({ projectId, buckets }: DashboardFilter): RawBuilder<unknown>[] {
  return [
    sql`project_id = ${projectId}::uuid`,
    sql`granularity = ${buckets.granularity}`,
    sql`start >= ${new Date(buckets.fromMs)}`,
    sql`start < ${new Date(buckets.toMs)}`,
  ]
}

function unfolded({ projectId, buckets }: DashboardFilter): RawBuilder<unknown>[] {
  return [
    sql`project_id = ${projectId}::uuid`,
    sql`at >= ${new Date(buckets.fromMs)}`,
    sql`at < ${new Date(buckets.toMs)}`,
  ]
}

function unfoldedStart({ buckets }: DashboardFilter): RawBuilder<unknown> {
  return sql`date_trunc(${buckets.granularity}, at, 'UTC')`
}

function equal(column: string, id: string | undefined): RawBuilder<unknown>[] {
  return id === undefined ? [] : [sql`${sql.ref(column)} = ${id}::uuid`]
}
