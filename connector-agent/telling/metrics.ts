import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { Performed } from '../requests/perform.ts'
import type { Answer } from '../tunnel/streams.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The counters of the agent. (docs/connector.md) */
export interface Metrics {
  connected(result: string): void
  heartbeat(code: string): void
  performed(done: Performed): void
  received(bytes: number): void
}

interface Facts {
  registry: Registry
  version: string
  sessions: () => number
  inFlight: () => number
  /** Since the relay last answered a heartbeat; undefined before it did. */
  heartbeatAgeSeconds: () => number | undefined
}

export function openMetrics({ registry, version, ...facts }: Facts): Metrics {
  const registers = [registry]
  openGauges(registry, facts)
  const labelled = (name: string, help: string, label: string) =>
    new Counter({ name, help, labelNames: [label], registers })
  const connects = labelled(
    'postern_connector_connects_total',
    'Gateways dialled, by what came of it',
    'result',
  )
  const heartbeats = labelled(
    'postern_connector_heartbeats_total',
    'Heartbeats, by status or error',
    'code',
  )
  const requests = labelled(
    'postern_connector_requests_total',
    'Requests, by what came of them',
    'outcome',
  )
  const bytes = labelled(
    'postern_connector_bytes_total',
    'Bytes of bodies: in from the gateway, out to it',
    'direction',
  )
  const denials = new Counter({
    name: 'postern_connector_policy_denials_total',
    help: 'Requests that the allow-list refused',
    registers,
  })
  const duration = new Histogram({
    name: 'postern_connector_request_duration_seconds',
    help: 'From the head of a request to its answer',
    buckets: SECONDS,
    registers,
  })
  new Gauge({
    name: 'postern_connector_build_info',
    help: 'The version that runs, as a label',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.version }, 1)
  return {
    connected: (result) => connects.inc({ result }),
    heartbeat: (code) => heartbeats.inc({ code }),
    received: (count) => bytes.inc({ direction: 'in' }, count),
    performed({ answer, durationMs }) {
      duration.observe(durationMs / 1_000)
      requests.inc({ outcome: outcomeOf(answer) })
      if (answer.kind === 'response') bytes.inc({ direction: 'out' }, answer.body.length)
      else if (answer.failure.code === 'host_not_allowed') denials.inc()
    },
  }
}

function openGauges(registry: Registry, facts: Omit<Facts, 'registry' | 'version'>): void {
  const gauge = (name: string, help: string, value: () => number | undefined): void => {
    const registered = new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const now = value()
        if (now !== undefined) registered.set(now)
      },
    })
  }
  gauge('postern_connector_sessions', 'Sessions that take requests', facts.sessions)
  gauge(
    'postern_connector_requests_in_flight',
    'Requests that are not answered yet',
    facts.inFlight,
  )
  gauge(
    'postern_connector_heartbeat_age_seconds',
    'Seconds since the relay last answered a heartbeat',
    facts.heartbeatAgeSeconds,
  )
}

function outcomeOf(answer: Answer): string {
  return answer.kind === 'response'
    ? `${Math.floor(answer.head.status / 100)}xx`
    : answer.failure.code
}
