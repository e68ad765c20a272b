import { Counter, type Registry } from 'prom-client'

import { countsOf, gaugeOf } from '../../core/metrics/instruments.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { BodyBudget } from './streams/body-budget.ts'
import type { Outcome } from './streams/streams.ts'

export interface GatewayMetrics {
  streams: Record<Outcome['kind'], number>
  closes: Counter<'code'>
  refusals: Counter<'status'>
}

const OUTCOMES: readonly Outcome['kind'][] = ['response', 'failure', 'unsent', 'lost', 'cancelled']

export function openMetrics(
  registry: Registry,
  { sessions, budget }: { sessions: Sessions; budget: BodyBudget },
): GatewayMetrics {
  gaugeOf(
    registry,
    { name: 'postern_gateway_sessions', help: 'Sessions of agents' },
    () => sessions.count,
  )
  gaugeOf(
    registry,
    { name: 'postern_gateway_streams_in_flight', help: 'Requests in flight at agents' },
    () => sessions.all().reduce((sum, { streams }) => sum + streams.inFlight, 0),
  )
  gaugeOf(
    registry,
    {
      name: 'postern_gateway_body_bytes',
      help: 'Bytes of request bodies that agents have and have not passed on',
    },
    () => budget.used,
  )
  return {
    streams: countsOf(registry, {
      name: 'postern_gateway_streams_total',
      help: 'Requests given to agents, by outcome',
      label: 'outcome',
      values: OUTCOMES,
    }),
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
