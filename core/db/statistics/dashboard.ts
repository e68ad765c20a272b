import { sql, type RawBuilder } from 'kysely'

import type { Buckets } from '../../statistics/granularity.ts'
import type { ListedBuckets } from '../../statistics/histogram.ts'
import { Numbers } from '../../statistics/numbers.ts'
import type { Db } from '../connection/db.ts'
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

/** The histogram of a row is added up by whoever shows it: taken apart into rows it costs the server half of the query. */
export interface DeliveryCounts extends Counted, ListedBuckets {
  succeeded: number
  failed: number
  throttled: number
  attempts: number
  retried: number
}

const EVENT_GROUP = {
  source: sql`source_id`,
  rejectionReason: sql`coalesce(rejection_reason, '')`,
}

const DELIVERY_GROUP = {
  source: sql`source_id`,
  destination: sql`destination_id`,
  connection: sql`connection_id`,
}

const NO_GROUP = sql`null::text`

/** Begins as the key of the roll-ups does, whose order it then comes in: nothing is sorted, latencies least of all. */
const BY_START = sql`project_id, granularity, start`

/**
 * A row as it comes: its numbers, the start in milliseconds first, in one text. A dashboard has ten thousand, and the
 * driver takes longer for each value than PostgreSQL does for all that is in it.
 */
interface Row {
  numbers: string
  group: string | null
}

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
  const sums = ['received', 'filtered', 'unmatched', 'rejected'].map(eventsOf)
  const { rows } = await sql<Row>`
    select ${numbersOf(sql`start`, sums)}, ${group}::text as "group"
    from event_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
    group by ${BY_START}, ${group}
    union all
    select ${numbersOf(sql`start`, sums)}, ${group}::text
    from (select *, ${unfoldedStart(filter)} as start from event_delta) as event_delta
    where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    group by start, ${group}
    limit ${filter.limit}`.execute(db)
  return rows.map((row) => {
    const numbers = new Numbers(row.numbers)
    return {
      startMs: numbers.next(),
      group: row.group ?? '',
      received: numbers.next(),
      filtered: numbers.next(),
      unmatched: numbers.next(),
      rejected: numbers.next(),
    }
  })
}

/** Reads in one statement, so that a delta that is folded at the same time is read once. */
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
  const sums = ['succeeded', 'failed', 'throttled', 'attempts', 'retried'].map(
    (name) => sql`sum(${sql.ref(name)}::float8)`,
  )
  const { rows } = await sql<Row & ListedBuckets>`
    select ${numbersOf(sql`start`, sums)}, ${group}::text as "group",
      string_agg(latency_buckets, '') as buckets, string_agg(latency_counts, '') as counts
    from delivery_rollup where ${sql.join([...folded(filter), ...wanted], sql` and `)}
    group by ${BY_START}, ${group}
    union all
    select ${numbersOf(sql`start`, sums)}, ${group}::text, string_agg(latencies::text, ''), null
    from (select *, ${unfoldedStart(filter)} as start from delivery_delta) as delivery_delta
    where ${sql.join([...unfolded(filter), ...wanted], sql` and `)}
    group by start, ${group}
    limit ${filter.limit}`.execute(db)
  return rows.map((row) => {
    const numbers = new Numbers(row.numbers)
    return {
      startMs: numbers.next(),
      group: row.group ?? '',
      succeeded: numbers.next(),
      failed: numbers.next(),
      throttled: numbers.next(),
      attempts: numbers.next(),
      retried: numbers.next(),
      buckets: row.buckets,
      counts: row.counts,
    }
  })
}

/** As the functions above read them, in this order. `extract` is numeric, and slow. */
function numbersOf(start: RawBuilder<unknown>, sums: RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`concat_ws(' ', ${sql.join([sql`date_part('epoch', ${start}) * 1000`, ...sums])}) as numbers`
}

/** Sums of bigint are numeric, which take PostgreSQL as long as all the rest of the query. */
function eventsOf(status: string): RawBuilder<unknown> {
  return sql`coalesce(sum(events::float8) filter (where status = ${status}), 0)`
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

/** To be named in a subquery: with a parameter of its own each time it would not be what is grouped by. */
function unfoldedStart({ buckets }: DashboardFilter): RawBuilder<unknown> {
  return sql`date_trunc(${buckets.granularity}, at, 'UTC')`
}

function equal(column: string, id: string | undefined): RawBuilder<unknown>[] {
  return id === undefined ? [] : [sql`${sql.ref(column)} = ${id}::uuid`]
}
