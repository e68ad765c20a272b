import { z } from 'zod'

import { DAY_MS, MINUTE_MS, timestamp } from '../../core/clock.ts'
import type { DeliveryCounts, EventCounts } from '../../core/db/statistics/dashboard.ts'
import { Histogram, type ListedBuckets } from '../../core/statistics/histogram.ts'
import { Timestamp } from '../http/fields.ts'

const Count = z.int().min(0)
const Latency = z.number().nullable()

const Received = z
  .object({
    received: Count.describe('Stored and matched by at least one connection.'),
    filtered: Count.describe('Stored and excluded by the filters of all connections.'),
    unmatched: Count.describe('Stored without a connection to take them.'),
    rejected: Count.describe('Stored as not verified.'),
  })
  .meta({
    id: 'DashboardEvents',
    description: 'Events by their status at ingest, in the bucket of their arrival.',
  })

const Ended = z
  .object({
    succeeded: Count.describe('Deliveries that an answer 2xx ended.'),
    failed: Count.describe('Deliveries that failed for good.'),
    throttled: Count.describe('Deliveries throttled for the first time.'),
  })
  .meta({
    id: 'DashboardDeliveries',
    description:
      'Ended deliveries, in the bucket in which they ended (a delivery that is retried by hand can end again), and deliveries throttled for the first time.',
  })

const Latencies = z
  .object({
    p50: Latency.describe('Half of the attempts took no longer.'),
    p95: Latency.describe('95 of 100 attempts took no longer.'),
    p99: Latency.describe('99 of 100 attempts took no longer.'),
  })
  .meta({
    id: 'DashboardLatencies',
    description:
      'Duration of the attempts that got an answer, whatever its status, within 5 %. Null without such an attempt.',
  })

const DashboardBucket = z
  .object({
    start: Timestamp.describe('When the bucket begins.'),
    group: z.string().optional().meta({
      description:
        'With `groupBy`: the id of the source, destination or connection, or the rejection reason.',
    }),
    events: Received,
    deliveries: Ended,
    attempts: Count.describe('Attempts that ended.'),
    retried: Count.meta({ description: 'Attempts after a delivery’s first.' }),
    latencyMs: Latencies,
  })
  .meta({ id: 'DashboardBucket', description: 'The counts of a span of time.' })

export const Dashboard = z
  .object({ data: z.array(DashboardBucket).describe('By time, then by group.') })
  .meta({
    id: 'Dashboard',
    description: 'Counts of events, deliveries and attempts, by buckets of time.',
  })

const BacklogBucket = z
  .object({
    start: Timestamp.describe('When the bucket begins.'),
    waiting: Count.describe('The most deliveries that waited at once.'),
    oldestPendingAgeSeconds: Count.meta({
      description: 'The greatest age of the oldest pending delivery; 0 when none was pending.',
    }),
  })
  .meta({ id: 'BacklogBucket', description: 'How much waited in a span of time.' })

export const BacklogHistory = z
  .object({ data: z.array(BacklogBucket).describe('By time.') })
  .meta({ id: 'BacklogHistory', description: 'How much waited over time.' })

type Shown = z.input<typeof DashboardBucket>

/** The shown counts of a bucket of a group, and the histogram parts of its latencies. */
interface Sum {
  shown: Shown
  latencies: ListedBuckets[]
}

/** By group, then by the start of a bucket. */
type Sums = ReadonlyMap<string, ReadonlyMap<number, Sum>>

/** The groups that have counts, in order: '' alone without groups. */
export function groupsOf(rows: readonly { group: string }[], isGrouped: boolean): string[] {
  return isGrouped ? [...new Set(rows.map((row) => row.group))].toSorted() : ['']
}

/** Every bucket of every group, by time and then by group: those without counts are zero. */
export function viewDashboard(
  counted: { events: readonly EventCounts[]; deliveries: readonly DeliveryCounts[] },
  axes: { starts: readonly number[]; groups: readonly string[] },
  nameOf: (group: string) => string | undefined,
): Shown[] {
  const sums = new Map(axes.groups.map((group) => [group, new Map<number, Sum>()]))
  const names = new Map(axes.groups.map((group) => [group, nameOf(group)]))
  const all: Sum[] = []
  for (const [startMs, start] of withTimestamps(axes.starts)) {
    for (const [group, ofGroup] of sums) {
      const sum = { shown: nothing(start, names.get(group)), latencies: [] }
      ofGroup.set(startMs, sum)
      all.push(sum)
    }
  }
  addUp(sums, counted)
  // All buckets share this histogram: there may be ten thousand.
  const histogram = new Histogram()
  for (const { shown, latencies } of all) {
    if (latencies.length > 0) shown.latencyMs = latencyOf(histogram, latencies)
  }
  return all.map(({ shown }) => shown)
}

/** Buckets begin at whole minutes, so that only their days need `Date`: for each of a thousand it takes 1.5 us. */
function withTimestamps(starts: readonly number[]): [number, string][] {
  const dates = new Map<number, string>()
  return starts.map((ms) => {
    const day = Math.floor(ms / DAY_MS)
    const date = dates.get(day) ?? timestamp(ms).slice(0, 'yyyy-mm-dd'.length)
    dates.set(day, date)
    const minutes = (ms - day * DAY_MS) / MINUTE_MS
    return [ms, `${date}T${twoDigits(minutes / 60)}:${twoDigits(minutes % 60)}:00.000Z`]
  })
}

function twoDigits(number: number): string {
  return String(Math.floor(number)).padStart(2, '0')
}

function nothing(start: string, group: string | undefined): Shown {
  return {
    start,
    ...(group !== undefined && { group }),
    events: { received: 0, filtered: 0, unmatched: 0, rejected: 0 },
    deliveries: { succeeded: 0, failed: 0, throttled: 0 },
    attempts: 0,
    retried: 0,
    latencyMs: { p50: null, p95: null, p99: null },
  }
}

/** Every bucket: those without a row had nothing to wait for. */
export function viewBacklog(
  starts: readonly number[],
  seen: ReadonlyMap<number, { waiting: number; oldestMs: number }>,
): z.input<typeof BacklogBucket>[] {
  return withTimestamps(starts).map(([ms, start]) => ({
    start,
    waiting: seen.get(ms)?.waiting ?? 0,
    oldestPendingAgeSeconds: Math.floor((seen.get(ms)?.oldestMs ?? 0) / 1_000),
  }))
}

function addUp(
  sums: Sums,
  { events, deliveries }: { events: readonly EventCounts[]; deliveries: readonly DeliveryCounts[] },
): void {
  for (const row of events) {
    const sum = sums.get(row.group)?.get(row.startMs)?.shown.events
    if (sum === undefined) continue
    sum.received += row.received
    sum.filtered += row.filtered
    sum.unmatched += row.unmatched
    sum.rejected += row.rejected
  }
  for (const row of deliveries) {
    const sum = sums.get(row.group)?.get(row.startMs)
    if (sum === undefined) continue
    sum.shown.deliveries.succeeded += row.succeeded
    sum.shown.deliveries.failed += row.failed
    sum.shown.deliveries.throttled += row.throttled
    sum.shown.attempts += row.attempts
    sum.shown.retried += row.retried
    sum.latencies.push(row)
  }
}

function latencyOf(histogram: Histogram, lists: readonly ListedBuckets[]): Shown['latencyMs'] {
  histogram.clear()
  for (const list of lists) histogram.addListed(list)
  return {
    p50: histogram.percentile(0.5),
    p95: histogram.percentile(0.95),
    p99: histogram.percentile(0.99),
  }
}
