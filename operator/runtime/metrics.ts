import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { QueueMetrics } from './queue/work-queue.ts'

export interface ControllerMetrics {
  queue(name: string): QueueMetrics
  watchQueue(name: string, depth: () => number): void
  reconciled(name: string, result: string, seconds: number): void
}

export interface RuntimeMetrics extends ControllerMetrics {
  request: (method: string, code: string) => void
  leads: (name: string, isLeader: boolean) => void
}

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120]

/** Under the names that dashboards for controllers know. */
export function openRuntimeMetrics(registry: Registry): RuntimeMetrics {
  const registers = [registry]
  const reconciles = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciliations of a controller by result',
    labelNames: ['controller', 'result'],
    registers,
  })
  const times = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Time that a reconciliation took',
    labelNames: ['controller'],
    buckets: SECONDS,
    registers,
  })
  const depths = new Map<string, () => number>()
  void new Gauge({
    name: 'workqueue_depth',
    help: 'Objects that wait for a worker',
    labelNames: ['name'],
    registers,
    collect() {
      for (const [name, depth] of depths) this.set({ name }, depth())
    },
  })
  const queued = openQueueMetrics(registers)
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server by method and status',
    labelNames: ['method', 'code'],
    registers,
  })
  const leaders = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process leads, else 0',
    labelNames: ['name'],
    registers,
  })
  return {
    queue: queued,
    watchQueue: (name, depth) => void depths.set(name, depth),
    reconciled(controller, result, seconds) {
      reconciles.inc({ controller, result })
      times.observe({ controller }, seconds)
    },
    request: (method, code) => requests.inc({ method, code }),
    leads: (name, isLeader) => leaders.set({ name }, isLeader ? 1 : 0),
  }
}

function openQueueMetrics(registers: Registry[]): (name: string) => QueueMetrics {
  const labelNames = ['name'] as const
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Objects that were put into the queue',
    labelNames,
    registers,
  })
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Objects that are tried again after a failure',
    labelNames,
    registers,
  })
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time that an object waited for a worker',
    labelNames,
    buckets: SECONDS,
    registers,
  })
  return (name) => ({
    added: () => adds.inc({ name }),
    retried: () => retries.inc({ name }),
    waited: (seconds) => waits.observe({ name }, seconds),
  })
}
