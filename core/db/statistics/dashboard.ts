import { sql, type RawBuilder } from 'kysely'

import type { Buckets } from '../../statistics/granularity.ts'
import { Histogram } from '../../statistics/histogram.ts'
import type { Db } from '../db.ts'
import { wholeOf } from './rollups.ts'

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
  source: sql`source_id`,
  destination: sql`destination_id`,
  connection: sql`connection_id`,
}

const COMMA = 44
const ZERO = 48

/** The driver would read each time of a thousand out of its text. */
const START_MS = sql`(extract(epoch from start) * 1000)::float8 as "startMs"`

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
  const { rows } = await sql<EventCounts>`
    select ${START_MS}, ${group} as "group",
      ${eventsOf('received')}, ${eventsOf('filtered')}, ${eventsOf('unmatched')}, ${eventsOf('rejected')}
    from (
      select true as is_folded, start, source_id, status, rejection_reason, events
      from event_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
      union all
      select false, ${unfoldedStart(filter)}, source_id, status, coalesce(rejection_reason, ''), events
      from event_delta where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    ) as counted
    group by is_folded, start, "group" limit ${filter.limit}`.execute(db)
  return rows
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
  type Row = Omit<DeliveryCounts, 'latencies'> & {
    buckets: string | null
    counts: string | null
  }
  const { rows } = await sql<Row>`
    with counted as (
      select true as is_folded, start, ${group} as "group", succeeded, failed, throttled, attempts, retried,
        latency_buckets as buckets, latency_counts as counts
      from delivery_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
      union all
      select false, ${unfoldedStart(filter)}, ${group}, succeeded, failed, throttled, attempts, retried, latencies, null
      from delivery_delta where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    )
    select ${START_MS}, "group"::text, sum(succeeded::float8) as succeeded, sum(failed::float8) as failed,
      sum(throttled::float8) as throttled, sum(attempts::float8) as attempts, sum(retried::float8) as retried,
      string_agg(nullif(array_to_string(buckets, ','), ''), ',') as buckets,
      string_agg(nullif(array_to_string(counts, ','), ''), ',') as counts
    from counted group by is_folded, start, "group" limit ${filter.limit}`.execute(db)
  return rows.map(({ buckets, counts, ...row }) => ({
    ...row,
    group: groupBy === undefined ? '' : row.group,
    latencies: histogramOf(buckets, counts),
  }))
}

/**
 * Histograms one behind the other, added up here: taken apart into rows they cost the server most of the query's time,
 * and as arrays the driver, which goes through them letter by letter.
 */
function histogramOf(buckets: string | null, counts: string | null): Histogram {
  const histogram = new Histogram()
  const attempts = numbersIn(counts)
  for (const [n, bucket] of numbersIn(buckets).entries()) {
    // What is not folded is a bucket for each attempt.
    histogram.add(bucket, counts === null ? 1 : (attempts[n] ?? 0))
  }
  return histogram
}

/** Whole numbers between commas, letter by letter: to cut out a string for each costs four times as much. */
function numbersIn(list: string | null): number[] {
  if (list === null) return []
  const numbers = [0]
  for (let at = 0; at < list.length; at++) {
    const last = numbers.length - 1
    const code = list.charCodeAt(at)
    if (code === COMMA) numbers.push(0)
    else numbers[last] = (numbers[last] ?? 0) * 10 + code - ZERO
  }
  return numbers
}

function eventsOf(status: string): RawBuilder<unknown> {
  return sql`coalesce(sum(events) filter (where status = ${status}), 0)::float8 as ${sql.ref(status)}`
}

function folded({ projectId, buckets, ...filter }: DashboardFilter): RawBuilder<unknown>[] {
  const { groupBy, sourceId, destinationId, connectionId } = filter
  const isFiltered = [sourceId, destinationId, connectionId].some((id) => id !== undefined)
  const isWhole = !isFiltered && (groupBy === undefined || groupBy === 'rejectionReason')
  const granularity = isWhole ? wholeOf(buckets.granularity) : buckets.granularity
  // As one comparison of the columns that begin the primary key: the index for pruning would serve less of them.
  const keyOf = (ms: number): RawBuilder<unknown> =>
    sql`(${projectId}::uuid, ${granularity}::text, ${new Date(ms)}::timestamptz)`
  return [
    sql`(project_id, granularity, start) >= ${keyOf(buckets.fromMs)}`,
    sql`(project_id, granularity, start) < ${keyOf(buckets.toMs)}`,
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
