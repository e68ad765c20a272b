import { sql, type RawBuilder } from 'kysely'

import type { Buckets } from '../../statistics/granularity.ts'
import type { ListedBuckets } from '../../statistics/histogram.ts'
import { Numbers } from '../../statistics/numbers.ts'
import type { Db } from '../connection/db.ts'
import { NO_OWNER, wholeOf } from './rollups.ts'

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

/** Rows of a bucket and a group at most: deltas, minutes and the roll-ups of both kinds come apart. */
export const ROWS_OF_BUCKET = 4

/** Counts of one bucket and group, a part of them. `group` is empty without groups. */
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
  const columnsBy = (start: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`${numbersOf(start, sums)}, ${group}::text as "group"`
  const parts = [
    ...rolledUp(filter).map(
      (range) => sql`
        select ${columnsBy(sql`start`)} from event_rollup where ${all(range, wanted)} group by ${BY_START}, ${group}`,
    ),
    ...notRolledUp(filter, 'event').map(
      ({ table, range }) => sql`
        select ${columnsBy(sql`bucket`)} from ${table} where ${all(range, wanted)} group by bucket, ${group}`,
    ),
  ]
  const { rows } = await sql<Row>`
    ${sql.join(parts, sql` union all `)} limit ${filter.limit}`.execute(db)
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
  const columnsBy = (start: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`${numbersOf(start, sums)}, ${group}::text as "group"`
  const lists = sql`string_agg(latency_buckets, '') as buckets, string_agg(latency_counts, '') as counts`
  const listed = sql`string_agg(latencies::text, '') as buckets, null as counts`
  const parts = [
    ...rolledUp(filter).map(
      (range) => sql`
        select ${columnsBy(sql`start`)}, ${lists} from delivery_rollup where ${all(range, wanted)} group by ${BY_START}, ${group}`,
    ),
    ...notRolledUp(filter, 'delivery').map(
      ({ table, range, isDelta }) => sql`
        select ${columnsBy(sql`bucket`)}, ${isDelta ? listed : lists} from ${table} where ${all(range, wanted)} group by bucket, ${group}`,
    ),
  ]
  const { rows } = await sql<Row & ListedBuckets>`
    ${sql.join(parts, sql` union all `)} limit ${filter.limit}`.execute(db)
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

function all(...conditions: RawBuilder<unknown>[][]): RawBuilder<unknown> {
  return sql.join(conditions.flat(), sql` and `)
}

/** The ranges of roll-ups to add up: those of the whole project, or of each owner. */
function rolledUp({ projectId, buckets, ...filter }: DashboardFilter): RawBuilder<unknown>[][] {
  const { groupBy, sourceId, destinationId, connectionId } = filter
  const isFiltered = [sourceId, destinationId, connectionId].some((id) => id !== undefined)
  const isWhole = !isFiltered && (groupBy === undefined || groupBy === 'rejectionReason')
  // As one comparison of the columns that begin the primary key: the index for pruning would serve less of them.
  const rangeOf = (granularity: string): RawBuilder<unknown>[] => {
    const keyOf = (ms: number): RawBuilder<unknown> =>
      sql`(${projectId}::uuid, ${granularity}::text, ${new Date(ms)}::timestamptz)`
    return [
      sql`(project_id, granularity, start) >= ${keyOf(buckets.fromMs)}`,
      sql`(project_id, granularity, start) < ${keyOf(buckets.toMs)}`,
    ]
  }
  const whole = rangeOf(wholeOf(buckets.granularity))
  return isWhole
    ? [whole]
    : [rangeOf(buckets.granularity), [...whole, sql`source_id <> ${NO_OWNER}::uuid`]]
}

interface NotRolledUp {
  /** With the start of the bucket, which must be named to be grouped by: as a parameter it would be another each time. */
  table: RawBuilder<unknown>
  range: RawBuilder<unknown>[]
  isDelta: boolean
}

/** Counts that are not in the roll-ups yet: minutes, and what is not in minutes either. */
function notRolledUp(
  { projectId, buckets }: DashboardFilter,
  of: 'event' | 'delivery',
): NotRolledUp[] {
  return (
    [
      ['delta', 'at'],
      ['minute', 'start'],
    ] as const
  ).map(([kind, time]) => ({
    table: sql`(
      select *, date_trunc(${buckets.granularity}, ${sql.ref(time)}, 'UTC') as bucket
      from ${sql.table(`${of}_${kind}`)}) as counted`,
    range: [
      sql`project_id = ${projectId}::uuid`,
      sql`${sql.ref(time)} >= ${new Date(buckets.fromMs)}`,
      sql`${sql.ref(time)} < ${new Date(buckets.toMs)}`,
    ],
    isDelta: kind === 'delta',
  }))
}

function equal(column: string, id: string | undefined): RawBuilder<unknown>[] {
  return id === undefined ? [] : [sql`${sql.ref(column)} = ${id}::uuid`]
}
