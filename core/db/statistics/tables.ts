import type { Time } from '../columns.ts'

/** The tables behind the statistics, as kysely sees them. */
export interface StatisticsTables {
  event_delta: EventDeltaTable
  delivery_delta: DeliveryDeltaTable
  event_minute: EventMinuteTable
  delivery_minute: DeliveryMinuteTable
  event_rollup: EventRollupTable
  delivery_rollup: DeliveryRollupTable
  backlog_rollup: BacklogRollupTable
  waiting_count: WaitingCountTable
}

interface EventDeltaTable {
  at: Time
  project_id: string
  source_id: string
  status: string
  rejection_reason: string | null
  events: number
}

interface DeliveryCounts {
  succeeded: number
  failed: number
  throttled: number
  attempts: number
  retried: number
}

interface DeliveryDeltaTable extends DeliveryCounts {
  at: Time
  project_id: string
  source_id: string
  destination_id: string
  connection_id: string
  /** The histogram bucket of each attempt that was answered. */
  latencies: number[] | null
}

interface EventMinuteTable {
  project_id: string
  start: Time
  source_id: string
  status: string
  /** Empty when it was not rejected. */
  rejection_reason: string
  events: number
}

interface EventRollupTable extends EventMinuteTable {
  granularity: string
}

interface DeliveryMinuteTable extends DeliveryCounts {
  project_id: string
  start: Time
  source_id: string
  destination_id: string
  connection_id: string
  /**
   * The histogram: buckets, and how many attempts fell into each; the text of arrays, `{1,2}`. In roll-ups it is one array
   * in order, in minutes one behind the other, one for each fold.
   */
  latency_buckets: string | null
  latency_counts: string | null
}

interface DeliveryRollupTable extends DeliveryMinuteTable {
  granularity: string
}

/** The most that waited at once in a span of time. */
interface BacklogRollupTable {
  project_id: string
  granularity: string
  start: Time
  waiting: number
  oldest_ms: number
}

interface WaitingCountTable {
  project_id: string
  pending: number
  throttled: number
  /** First attempts that no worker has begun: they have no waiting row. */
  undispatched: number
  oldest_undispatched_id: string | null
}
