import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { DeliveryCounts, EventCounts } from '../../core/db/statistics/dashboard.ts'
import { Histogram, type ListedBuckets } from '../../core/statistics/histogram.ts'
import { Timestamp } from '../fields.ts'

const Count = z.int().min(0)
const Latency = z.number().nullable()

export const DashboardBucket = z
  .object({
    start: Timestamp,
    group: z.string().optional().meta({
      description:
        'With `groupBy`: the id of the source, destination or connection, or the rejection reason.',
    }),
    events: z
      .object({ received: Count, filtered: Count, unmatched: Count, rejected: Count })
      .meta({ description: 'By what became of them at ingest, in the bucket in which they came.' }),
    deliveries: z.object({ succeeded: Count, failed: Count, throttled: Count }).meta({
      description:
        'Ends of deliveries, in the bucket in which they ended (one that is retried by hand may end again), and deliveries that were held for the first time.',
    }),
    attempts: Count,
    retried: Count.meta({ description: 'Attempts after a delivery’s first.' }),
    latencyMs: z.object({ p50: Latency, p95: Latency, p99: Latency }).meta({
      description:
        'Duration of the attempts that got an answer, whatever its status, within 5 %. Null without such an attempt.',
    }),
  })
  .meta({ id: 'DashboardBucket' })

type Shown = z.input<typeof DashboardBucket>

/** What one bucket of one group adds up to. */
interface Sum {
  events: Shown['events']
  deliveries: Shown['deliveries']
  attempts: number
  retried: number
  latencies: ListedBuckets[]
}

/** By the start of a bucket, then by group. */
type Sums = Map<number, Map<string, Sum>>

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
  const sums = sumsOf(counted)
  const names = new Map(axes.groups.map((group) => [group, nameOf(group)]))
  // One for all: there may be ten thousand to show.
  const histogram = new Histogram()
  return axes.starts.flatMap((startMs) => {
    const start = timestamp(startMs)
    const sumsThen = sums.get(startMs)
    return axes.groups.map((group) => {
      const { latencies, ...sum } = sumsThen?.get(group) ?? nothing()
      const name = names.get(group)
      return {
        start,
        ...(name !== undefined && { group: name }),
        ...sum,
        latencyMs: latencyOf(histogram, latencies),
      }
    })
  })
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

function sumsOf({
  events,
  deliveries,
}: {
  events: readonly EventCounts[]
  deliveries: readonly DeliveryCounts[]
}): Sums {
  const sums: Sums = new Map()
  for (const row of events) {
    const sum = sumOf(sums, row).events
    sum.received += row.received
    sum.filtered += row.filtered
    sum.unmatched += row.unmatched
    sum.rejected += row.rejected
  }
  for (const row of deliveries) {
    const sum = sumOf(sums, row)
    sum.deliveries.succeeded += row.succeeded
    sum.deliveries.failed += row.failed
    sum.deliveries.throttled += row.throttled
    sum.attempts += row.attempts
    sum.retried += row.retried
    sum.latencies.push(row)
  }
  return sums
}

function sumOf(sums: Sums, { startMs, group }: { startMs: number; group: string }): Sum {
  const ofStart = sums.get(startMs) ?? new Map<string, Sum>()
  sums.set(startMs, ofStart)
  const sum = ofStart.get(group) ?? nothing()
  ofStart.set(group, sum)
  return sum
}

function nothing(): Sum {
  return {
    events: { received: 0, filtered: 0, unmatched: 0, rejected: 0 },
    deliveries: { succeeded: 0, failed: 0, throttled: 0 },
    attempts: 0,
    retried: 0,
    latencies: [],
  }
}
