import type { Db } from '../../../core/db/connection/db.ts'
import {
  standingOfToken,
  type GoodReplica,
} from '../../../core/db/connectors/connector-standing.ts'
import { liveProcesses } from '../../../core/db/processes/processes.ts'
import { networkOf } from '../../../core/egress/address.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import {
  DIALS_PER_SECOND,
  GATEWAY_SESSIONS_MAX,
  GATEWAY_SESSIONS_PER_FREE,
} from '../../../core/limits.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { DialLimit } from './dial-limit.ts'
import type { Admission, Dialled } from './server.ts'

interface AdmissionDeps {
  db: Db
  gatewayName: string
  sessions: Sessions
  dials: DialLimit
  /** The gateway goes away: agents dial another. */
  isLeaving(): boolean
}

/** A session of the same replica younger than this comes from a dial that crossed this one. */
const FRESH_MS = 3_000
const RETRY_SECONDS = 2

/**
 * Whether an agent gets a session: its address first, before anything is looked up, then its token. An unknown token and
 * none at all get the same answer.
 */
export async function admit(
  deps: AdmissionDeps,
  { token, remoteIp, gateways }: Dialled,
): Promise<Admission<GoodReplica>> {
  const waitMs = deps.dials.take(networkOf(remoteIp), performance.now())
  if (waitMs > 0) {
    return refused(429, 'RATE_LIMITED', 'Too many dials from this address', {
      data: { limit: DIALS_PER_SECOND, remaining: 0, retryAfterSeconds: Math.ceil(waitMs / 1_000) },
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    })
  }
  if (deps.isLeaving()) return away('The gateway is going away: dial again')
  const free = GATEWAY_SESSIONS_MAX - deps.sessions.count
  if (free <= 0) return away('The gateway has no room')
  const standing = await standingOfToken(deps.db, hashSecret(token))
  if (standing === undefined) return refused(401, 'UNAUTHORIZED', 'Token is missing or invalid')
  if (standing.kind === 'revoked') {
    const data = { reason: standing.reason }
    return refused(403, 'CONNECTOR_REPLICA_REVOKED', 'This replica was revoked', { data })
  }
  if (deps.sessions.countOf(standing.organisationId) >= free * GATEWAY_SESSIONS_PER_FREE) {
    return away('The gateway has no room for more sessions of this organisation')
  }
  const known = deps.sessions.ofReplica(standing.replicaId)
  const isNamed = gateways.includes(deps.gatewayName)
  const isTwin = known.some(({ openedAtMs }) => isNamed || Date.now() - openedAtMs < FRESH_MS)
  if (isTwin) {
    const live = (await liveProcesses(deps.db, 'gateway')).length
    const data = { gateways: Math.max(1, live) }
    return refused(409, 'CONFLICT', 'This replica already has a session at this gateway', { data })
  }
  return { kind: 'admitted', owner: standing }
}

function refused(
  status: number,
  code: string,
  message: string,
  more: { data?: object; retryAfterSeconds?: number } = {},
): Admission<never> {
  return { kind: 'refused', status, code, message, ...more }
}

function away(message: string): Admission<never> {
  return refused(503, 'UNAVAILABLE', message, { retryAfterSeconds: RETRY_SECONDS })
}
