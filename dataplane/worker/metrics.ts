import { Histogram, type Registry } from 'prom-client'

export interface WorkerMetrics {
  attempts: Histogram<'outcome'>
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
  }
}
