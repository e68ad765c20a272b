import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import type { Memory } from './memory.ts'

export interface WorkerMetrics {
  /** In seconds. */
  attempts: Record<DeliveryResult['attempt']['outcome'], Histogram.Internal<'outcome'>>
  partitions: Gauge
  handovers: Counter
  /** From now on tells what the worker holds in memory. */
  watch(memory: Memory): void
}

/** Seconds: from a local endpoint to the longest timeout. */
const ATTEMPT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

export function openMetrics(registry: Registry): WorkerMetrics {
  const attempts = new Histogram({
    name: 'postern_attempt_duration_seconds',
    help: 'Attempts by outcome: succeeded, failed, busy',
    labelNames: ['outcome'],
    buckets: ATTEMPT_BUCKETS,
    registers: [registry],
  })
  return {
    // Looked up once, not for each attempt.
    attempts: {
      succeeded: attempts.labels('succeeded'),
      failed: attempts.labels('failed'),
      busy: attempts.labels('busy'),
    },
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
    watch({ work, largeBodies }) {
      gauge(
        registry,
        'postern_work_bytes_held',
        'Bytes of messages and claimed rows in memory, and of answers to be written',
        () => work.held,
      )
      gauge(
        registry,
        'postern_large_body_bytes_held',
        'Bytes taken for bodies too large for a message, from before they are read until they are sent',
        () => largeBodies.held,
      )
    },
  }
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const one = new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
  one.set(0)
}
