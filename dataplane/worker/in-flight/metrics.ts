import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import { ATTEMPT_ERROR_CODES } from '../../../core/delivery/attempt-error.ts'
import { countsOf, gaugeOf, zeros } from '../../../core/metrics/instruments.ts'
import type { Memory } from './memory.ts'

type Attempt = Pick<DeliveryResult['attempt'], 'outcome' | 'errorCode' | 'durationMs' | 'trigger'>

export interface WorkerMetrics {
  /** An attempt of a delivery was made. `latencyMs`: from the storing of the event to its first attempt. */
  noteAttempt(attempt: Attempt, latencyMs: number | null): void
  /** Deliveries that were held back, and had not been before, by reason. */
  throttled: Record<(typeof THROTTLE_REASONS)[number], number>
  partitions: Gauge
  handovers: Counter
  /** From now on tells what the worker holds in memory, and how many attempts are under way. */
  watch(held: Memory & { underWay: () => number }): void
}

const OUTCOMES = ['succeeded', 'failed', 'busy'] as const
const NO_ERROR = 'none'
const RETRIES = ['automatic', 'manual', 'bulk'] as const
const THROTTLE_REASONS = ['rate_limit', 'destination_busy'] as const

/** Seconds: from a local endpoint to the longest timeout. */
const ATTEMPT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

/** Seconds: from an idle relay to a destination that was paced for an hour. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600]

export function openMetrics(registry: Registry): WorkerMetrics {
  const count = countAttempts(registry)
  const durations = new Histogram({
    name: 'postern_delivery_attempt_duration_seconds',
    help: 'Time of an attempt, by outcome',
    labelNames: ['outcome'],
    buckets: ATTEMPT_BUCKETS,
    registers: [registry],
  })
  // Looked up once, not for each attempt.
  const observe = {
    succeeded: durations.labels('succeeded'),
    failed: durations.labels('failed'),
    busy: durations.labels('busy'),
  }
  const latency = new Histogram({
    name: 'postern_delivery_latency_seconds',
    help: 'Time from the storing of an event, or its replay, to the start of the first attempt',
    buckets: LATENCY_BUCKETS,
    registers: [registry],
  })
  const retries = countsOf(registry, {
    name: 'postern_delivery_retries_total',
    help: 'Attempts after the first of a delivery, by trigger',
    label: 'trigger',
    values: RETRIES,
  })
  return {
    noteAttempt({ outcome, errorCode, durationMs, trigger }, latencyMs) {
      count(outcome, errorCode)
      observe[outcome].observe(durationMs / 1_000)
      if (trigger !== 'initial') retries[trigger]++
      else if (latencyMs !== null) latency.observe(Math.max(0, latencyMs) / 1_000)
    },
    throttled: countsOf(registry, {
      name: 'postern_delivery_throttled_total',
      help: 'Deliveries that were held back for the first time, by reason',
      label: 'reason',
      values: THROTTLE_REASONS,
    }),
    partitions: new Gauge({
      name: 'postern_worker_partitions',
      help: 'Partitions that this worker owns',
      registers: [registry],
    }),
    handovers: new Counter({
      name: 'postern_worker_partition_handovers_total',
      help: 'Partitions that this worker handed over to another',
      registers: [registry],
    }),
    watch: (held) => watch(registry, held),
  }
}

function watch(
  registry: Registry,
  { work, largeBodies, underWay }: Parameters<WorkerMetrics['watch']>[0],
): void {
  gaugeOf(
    registry,
    { name: 'postern_worker_attempts_in_flight', help: 'Attempts under way' },
    underWay,
  )
  gaugeOf(
    registry,
    {
      name: 'postern_worker_held_bytes',
      help: 'Bytes of messages and claimed rows in memory, and of answers to be written',
    },
    () => work.reserved,
  )
  gaugeOf(
    registry,
    {
      name: 'postern_worker_large_body_bytes',
      help: 'Bytes taken for bodies too large for a message, from before they are read until they are sent',
    },
    () => largeBodies.reserved,
  )
}

/** Counts by two labels; shows the pairs that occurred, and success from the start. */
function countAttempts(
  registry: Registry,
): (outcome: Attempt['outcome'], errorCode: Attempt['errorCode']) => void {
  const codes = [NO_ERROR, ...ATTEMPT_ERROR_CODES] as const
  const counts = { succeeded: zeros(codes), failed: zeros(codes), busy: zeros(codes) }
  void new Counter({
    name: 'postern_delivery_attempts_total',
    help: 'Attempts by outcome, and by error code unless they succeeded',
    labelNames: ['outcome', 'error_code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const outcome of OUTCOMES) {
        for (const code of codes) {
          const value = counts[outcome][code]
          const isShown = value > 0 || (outcome === 'succeeded' && code === NO_ERROR)
          if (isShown) this.inc({ outcome, error_code: code }, value)
        }
      }
    },
  })
  return (outcome, errorCode) => counts[outcome][errorCode ?? NO_ERROR]++
}
