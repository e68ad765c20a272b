import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export interface WorkerMetrics {
  attempts: Histogram<'outcome'>
  partitions: Gauge
  handovers: Counter
}

/** Seconds: from a local endpoint to the longest timeout. */
const ATTEMPT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

export function openMetrics(registry: Registry): WorkerMetrics {
  return {
    attempts: new Histogram({
      name: 'postern_attempt_duration_seconds',
      help: 'Attempts by outcome: succeeded, failed, busy',
      labelNames: ['outcome'],
      buckets: ATTEMPT_BUCKETS,
      registers: [registry],
    }),
    partitions: new Gauge({
      name: 'postern_partitions_held',
      help: 'Partitions that this worker owns',
      registers: [registry],
    }),
    handovers: new Counter({
      name: 'postern_partition_handovers_total',
      help: 'Partitions that this worker handed over to another',
      registers: [registry],
    }),
  }
}
