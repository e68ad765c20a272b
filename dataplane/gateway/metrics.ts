import { Counter, Gauge, type Registry } from 'prom-client'

import type { BodyBudget } from './body-budget.ts'
import type { Sessions } from './sessions.ts'
import type { Outcome } from './streams.ts'

export interface GatewayMetrics {
  streams: Counter<'outcome'>
  closes: Counter<'code'>
  refusals: Counter<'status'>
}

const OUTCOMES: readonly Outcome['kind'][] = ['response', 'failure', 'unsent', 'lost', 'cancelled']

export function openMetrics(
  registry: Registry,
  { sessions, budget }: { sessions: Sessions; budget: BodyBudget },
): GatewayMetrics {
  gauge(registry, 'postern_gateway_sessions', 'Sessions of agents', () => sessions.count)
  gauge(registry, 'postern_gateway_streams_in_flight', 'Requests in flight at agents', () =>
    sessions.all().reduce((sum, { streams }) => sum + streams.inFlight, 0),
  )
  gauge(
    registry,
    'postern_gateway_body_bytes',
    'Bytes of request bodies that agents have and have not passed on',
    () => budget.used,
  )
  const streams = new Counter({
    name: 'postern_gateway_streams_total',
    help: 'Requests given to agents, by what came of them',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of OUTCOMES) streams.inc({ outcome }, 0)
  return {
    streams,
    closes: new Counter({
      name: 'postern_gateway_session_closes_total',
      help: 'Sessions that ended, by close code',
      labelNames: ['code'],
      registers: [registry],
    }),
    refusals: new Counter({
      name: 'postern_gateway_refused_dials_total',
      help: 'Dials that got no session, by the status of the answer',
      labelNames: ['status'],
      registers: [registry],
    }),
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
