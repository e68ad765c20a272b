import { pino } from 'pino'

import { AgentStreams, type Perform } from '../../connector-agent/tunnel/streams.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { Calls } from '../../dataplane/gateway/calls.ts'
import { type Choosable, Sessions } from '../../dataplane/gateway/sessions/sessions.ts'
import { BodyBudget } from '../../dataplane/gateway/streams/body-budget.ts'
import { GatewayStreams } from '../../dataplane/gateway/streams/streams.ts'
import { GatewayCalls } from '../../dataplane/worker/send/gateway-calls.ts'

export const PHASES = {
  dnsMs: null,
  connectMs: null,
  tlsMs: null,
  firstByteMs: null,
  totalMs: 1,
}
const LOG = pino({ level: 'silent' })
const MIB = 1024 * 1024

/** A session whose agent is in this process, without a socket between. */
export function addSession(sessions: Sessions<Choosable>, connectorId: string, perform: Perform) {
  const later = (act: () => void): void => void setImmediate(act)
  const streams: GatewayStreams = new GatewayStreams({
    write: (frame) => later(() => agent.receive(frame)),
    budget: new BodyBudget(64 * MIB, 64 * MIB),
    owner: 'o',
  })
  const agent = new AgentStreams({
    write: (frame) => later(() => streams.receive(frame)),
    perform,
    streamsMax: 64,
  })
  const owner = { replicaId: `replica of ${connectorId}`, connectorId, organisationId: 'o' }
  const session: Choosable = { owner, streams }
  sessions.add(session)
  return { session, streams, agent }
}

/** The part of a gateway that hears workers. */
export interface Gateway extends AsyncDisposable {
  sessions: Sessions<Choosable>
  calls: Calls
  nats: NatsConnection
}

export async function openGateway(natsUrl: string, name: string): Promise<Gateway> {
  const nats = await openNats(natsUrl, name, LOG)
  const sessions = new Sessions<Choosable>(Math.random)
  const calls = new Calls({ nats, log: LOG, sessions, gatewayName: name, count: () => {} })
  return {
    sessions,
    calls,
    nats,
    async [Symbol.asyncDispose]() {
      await calls[Symbol.asyncDispose]()
      await nats.close()
    },
  }
}

/** The part of a worker that calls gateways. */
export interface Worker extends AsyncDisposable {
  calls: GatewayCalls
  nats: NatsConnection
}

export async function openWorker(natsUrl: string): Promise<Worker> {
  const nats = await openNats(natsUrl, 'worker', LOG)
  const calls = new GatewayCalls(nats)
  return {
    calls,
    nats,
    async [Symbol.asyncDispose]() {
      calls[Symbol.dispose]()
      await nats.close()
    },
  }
}
