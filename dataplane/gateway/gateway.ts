import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'

import type { Registry } from 'prom-client'

import type { Clock } from '../../core/clock.ts'
import type { Db } from '../../core/db/connection/db.ts'
import type { GoodReplica } from '../../core/db/connectors/connector-standing.ts'
import { provisionConnectors } from '../../core/db/connectors/connectors.ts'
import { forgetSessions } from '../../core/db/connectors/live-sessions.ts'
import { Presence } from '../../core/db/processes/presence.ts'
import { newId } from '../../core/ids.ts'
import {
  DIALS_BURST,
  DIALS_PER_SECOND,
  TUNNEL_BODY_BYTES,
  TUNNEL_ORGANISATION_BODY_BYTES,
} from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import { isConnected, type NatsConnection } from '../../core/nats.ts'
import { followConnectors, noticeLife, noticeOnline } from '../../core/notices/connector-notices.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import type { LinkTiming } from '../../core/tunnel/link.ts'
import { every } from '../every.ts'
import { Calls } from './calls.ts'
import { admit } from './dial/admission.ts'
import { DialLimit } from './dial/dial-limit.ts'
import { buildTunnelServer } from './dial/server.ts'
import { Keeper } from './keeper.ts'
import { openMetrics } from './metrics.ts'
import { SessionRows } from './sessions/session-rows.ts'
import { Sessions } from './sessions/sessions.ts'
import { BodyBudget } from './streams/body-budget.ts'

/** Workers count a gateway as dead that they have not heard for three of these. */
const LIFE_MS = 1_000
/** Between looks for connectors whose notice was lost. */
const PROVISION_MS = 5_000
/** Interval of reading the database, in case a notice was lost. (decisions: Connectors, replicas, tunnel) */
const SWEEP_MS = 10_000

export interface GatewayDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  registry: Registry
  /** As agents know it: the same when it restarts. */
  name: string
  remoteIpOf: (request: IncomingMessage) => string
  timing?: LinkTiming
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

export interface Gateway extends AsyncDisposable {
  server: Server
  /** Rejects while PostgreSQL does not commit. */
  checkDatabase(): Promise<void>
  /** Sends agents elsewhere and waits until their requests in flight are answered. */
  drain(): Promise<void>
}

/** Holds the sessions of agents, and gives them what workers send to their connectors. */
export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { db, nats, log, name } = deps
  const stop = new AbortController()
  const identity = { id: newId(deps.clock.now()), role: 'gateway', name }
  const { keeper, sessions, calls, rows, server, leave } = openParts(deps, identity.id)
  const provision = provisioner(deps)
  const notices = followConnectors(nats, (connectorIds) => {
    Promise.all([keeper.look(connectorIds), provision()]).catch((err: unknown) =>
      log.warn({ err }, 'Cannot look at changed connectors'),
    )
  })
  const presence = await Presence.begin({ db, log, identity })
  const repeat = (ms: number, task: string, act: () => Promise<void>): Promise<void> =>
    every(ms, { signal: stop.signal, log, name: task }, act)
  const tasks = [
    repeat(LIFE_MS, 'life', lifeOf(nats, identity.id, sessions)),
    repeat(PROVISION_MS, 'provisioning', provision),
    repeat(SWEEP_MS, 'sessions', () => keeper.sweep()),
  ]
  const takeLeave = async (): Promise<void> => {
    await forgetSessions(db, identity.id)
    await presence[Symbol.asyncDispose]()
  }
  return {
    server,
    checkDatabase: async () => await presence.check(),
    async drain() {
      leave()
      await keeper.drain()
    },
    async [Symbol.asyncDispose]() {
      leave()
      notices[Symbol.dispose]()
      keeper.closeAll(() => true)
      await calls[Symbol.asyncDispose]()
      stop.abort()
      await Promise.all(tasks)
      await close(server)
      rows[Symbol.dispose]()
      await takeLeave().catch((err: unknown) => log.warn({ err }, 'Cannot deregister the process'))
    },
  }
}

function openParts(deps: GatewayDeps, gatewayId: string) {
  const { db, nats, log, name, timing, remoteIpOf } = deps
  const sessions = new Sessions(Math.random)
  const budget = new BodyBudget(TUNNEL_BODY_BYTES, TUNNEL_ORGANISATION_BODY_BYTES)
  const metrics = openMetrics(deps.registry, { sessions, budget })
  const calls = new Calls({
    nats,
    log,
    sessions,
    gatewayName: gatewayId,
    tracing: deps.tracing,
    count: (outcome) => {
      metrics.streams[outcome]++
    },
  })
  const rows = new SessionRows({ db, log, gatewayId, sessions })
  const keeper = new Keeper({
    db,
    nats,
    log,
    timing,
    sessions,
    budget,
    calls,
    rows,
    gatewayName: name,
    closed: (code) => metrics.closes.inc({ code: String(code) }),
  })
  const dials = new DialLimit({ burst: DIALS_BURST, perSecond: DIALS_PER_SECOND })
  let isLeaving = false
  const admission = { db, gatewayName: name, sessions, dials, isLeaving: () => isLeaving }
  const server = buildTunnelServer<GoodReplica>({
    log,
    gatewayName: name,
    remoteIpOf,
    async admit(dialled) {
      const answer = await admit(admission, dialled)
      if (answer.kind === 'refused') metrics.refusals.inc({ status: String(answer.status) })
      return answer
    },
    opened: (wire, owner) => keeper.open(wire, owner),
  })
  const leave = (): void => {
    isLeaving = true
  }
  return { keeper, sessions, calls, rows, server, leave }
}

function provisioner({ db, clock, log }: GatewayDeps): () => Promise<void> {
  return async () => {
    for (const connectorId of await provisionConnectors(db, new Date(clock.now()))) {
      log.info({ connectorId }, 'Took a connector over')
    }
  }
}

/** Says that the gateway lives, and after NATS was away which connectors it has: the word may have been missed. */
function lifeOf(nats: NatsConnection, gatewayId: string, sessions: Sessions): () => Promise<void> {
  let wasConnected = true
  return async () => {
    const isBack = isConnected(nats) && !wasConnected
    wasConnected = isConnected(nats)
    if (isBack) for (const connectorId of sessions.connectors()) noticeOnline(nats, connectorId)
    // Nobody waits for the answer of one that has no session.
    if (sessions.connectors().length > 0) noticeLife(nats, gatewayId)
  }
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
