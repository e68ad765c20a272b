import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { DeliveryCounts, EventCounts } from '../../core/db/statistics/dashboard.ts'
import type { Histogram } from '../../core/statistics/histogram.ts'
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
  /** Undefined while no row has come: the first one's is taken over. */
  latencies: Histogram | undefined
}

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
  return axes.starts.flatMap((startMs) => {
    const start = timestamp(startMs)
    return axes.groups.map((group) => {
      const { latencies, ...sum } = sums.get(keyOf({ startMs, group })) ?? nothing()
      const name = names.get(group)
      return {
        start,
        ...(name !== undefined && { group: name }),
        ...sum,
        latencyMs: {
          p50: latencies?.percentile(0.5) ?? null,
          p95: latencies?.percentile(0.95) ?? null,
          p99: latencies?.percentile(0.99) ?? null,
        },
      }
    })
  })
}

function sumsOf({
  events,
  deliveries,
}: {
  events: readonly EventCounts[]
  deliveries: readonly DeliveryCounts[]
}): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  const sumOf = (row: { startMs: number; group: string }): Sum => {
    const key = keyOf(row)
    const known = sums.get(key) ?? nothing()
    sums.set(key, known)
    return known
  }
  for (const row of events) {
    const sum = sumOf(row)
    for (const status of ['received', 'filtered', 'unmatched', 'rejected'] as const) {
      sum.events[status] += row[status]
    }
  }
  for (const row of deliveries) {
    const sum = sumOf(row)
    for (const outcome of ['succeeded', 'failed', 'throttled'] as const) {
      sum.deliveries[outcome] += row[outcome]
    }
    sum.attempts += row.attempts
    sum.retried += row.retried
    if (sum.latencies === undefined) sum.latencies = row.latencies
    else sum.latencies.merge(row.latencies)
  }
  return sums
}

function nothing(): Sum {
  return {
    events: { received: 0, filtered: 0, unmatched: 0, rejected: 0 },
    deliveries: { succeeded: 0, failed: 0, throttled: 0 },
    attempts: 0,
    retried: 0,
    latencies: undefined,
  }
}

function keyOf({ startMs, group }: { startMs: number; group: string }): string {
  return `${startMs} ${group}`
}
