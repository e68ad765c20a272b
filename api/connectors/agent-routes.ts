import { z } from 'zod'

import { standingOfToken, type GoodReplica } from '../../core/db/connectors/connector-standing.ts'
import {
  countAtAddress,
  countReplicas,
  findEnrolled,
  insertReplica,
  lockEnrolled,
  noteHeartbeat,
  replaceOffline,
} from '../../core/db/connectors/replicas.ts'
import { refuse } from '../../core/errors.ts'
import { encodeId, newId } from '../../core/ids.ts'
import { hashSecret, makeSecret } from '../../core/keys/secret-text.ts'
import { ADDRESS_HEARTBEATS_PER_SECOND, HEARTBEAT_INTERVAL_SECONDS } from '../../core/limits.ts'
import { entitlementsFor } from '../billing/standing.ts'
import type { Deps } from '../deps.ts'
import { publicRoute, type Caller } from '../http/route.ts'
import { refuseWithoutGateway } from './change.ts'
import { Bootstrap, Bootstrapped, Heartbeat, HeartbeatAnswer } from './replica-shape.ts'

const tag = 'Connectors'
const noQuery = z.strictObject({})

/** The endpoints of agents, which have no API key. (spec: Connector endpoints) */
export const AGENT_ROUTES = [
  publicRoute({
    method: 'POST',
    path: '/connectors/bootstrap',
    operationId: 'bootstrapReplica',
    tag,
    summary: 'Enrol an agent',
    description:
      'The bearer token is the enrolment key of the connector. A replica of the same `instanceName` that has no session is replaced, and its token revoked.',
    permission: 'public',
    params: {},
    query: noQuery,
    body: Bootstrap,
    responses: { 200: Bootstrapped },
    isSecret: true,
    errors: ['UNAUTHORIZED', 'REPLICA_LIMIT_REACHED', 'RATE_LIMITED'],
    async admit({ deps, remoteIp, authorization }) {
      await deps.callers.take(deps.db, 'address', remoteIp)
      const hash = hashSecret(tokenOf(authorization))
      const enrolled = (await findEnrolled(deps.db, hash)) ?? refuseToken()
      await deps.callers.take(deps.db, 'bootstrap', enrolled.connectorId)
      return hash
    },
    async handle({ deps, remoteIp, body, admitted }) {
      const gatewayUrl = refuseWithoutGateway(deps, 'request')
      const { replicaId, heartbeatToken, enrolled } = await enrol(deps, admitted, {
        ...body,
        remoteIp,
      })
      return {
        status: 200,
        body: {
          connectorId: encodeId('cnr', enrolled.connectorId),
          replicaId: encodeId('rpl', replicaId),
          heartbeatToken,
          heartbeatIntervalSeconds: await intervalAt(deps, remoteIp),
          gatewayUrl,
          allowedHosts: enrolled.allowedHosts,
        },
      }
    },
  }),
  publicRoute({
    method: 'POST',
    path: '/connectors/replicas/heartbeat',
    operationId: 'reportReplica',
    tag,
    summary: 'Report that an agent is running',
    description:
      'The bearer token is the token that the agent got when it enrolled. The answer says when the next report is due, and gives the present settings of the connector.',
    permission: 'public',
    params: {},
    query: noQuery,
    body: Heartbeat,
    responses: { 200: HeartbeatAnswer },
    errors: ['UNAUTHORIZED', 'CONNECTOR_REPLICA_REVOKED', 'RATE_LIMITED'],
    admit: admitReplica,
    async handle({ deps, remoteIp, body, admitted }) {
      const now = new Date(deps.clock.now())
      const startedAt = new Date(now.getTime() - body.uptimeSeconds * 1_000)
      const beat = { inFlight: body.inFlight, remoteIp, startedAt, now }
      if (!(await noteHeartbeat(deps.db, admitted.replicaId, beat))) refuseToken()
      return {
        status: 200,
        body: {
          heartbeatIntervalSeconds: await intervalAt(deps, remoteIp),
          gatewayUrl: refuseWithoutGateway(deps, 'request'),
          allowedHosts: admitted.allowedHosts,
          isDisabled: admitted.isDisabled,
        },
      }
    },
  }),
]

async function admitReplica({ deps, remoteIp, authorization }: Caller): Promise<GoodReplica> {
  await deps.callers.take(deps.db, 'address', remoteIp)
  const standing = await standingOfToken(deps.db, hashSecret(tokenOf(authorization)))
  if (standing === undefined) return refuseToken()
  await deps.callers.take(deps.db, 'heartbeat', standing.replicaId)
  if (standing.kind === 'good') return standing
  const { reason } = standing
  return refuse('CONNECTOR_REPLICA_REVOKED', 'This replica was revoked', { reason })
}

interface Instance {
  instanceName: string
  version: string
  startedAt: number
  remoteIp: string
}

async function enrol(deps: Deps, enrollmentHash: Buffer, instance: Instance) {
  const { text: heartbeatToken, hash: tokenHash } = makeSecret(deps.keyPrefix, 'hb')
  const now = new Date(deps.clock.now())
  const replicaId = newId(now.getTime())
  const enrolled = await deps.db.transaction().execute(async (tx) => {
    // The key may have been replaced since it was looked at.
    const found = (await lockEnrolled(tx, enrollmentHash)) ?? refuseToken()
    const { connectorId, organisationId } = found
    const { instanceName: name, version, startedAt, remoteIp } = instance
    await replaceOffline(tx, { connectorId, name }, now)
    const { replicasPerConnector: limit } = await entitlementsFor(deps, tx, organisationId)
    const current = await countReplicas(tx, connectorId)
    if (limit !== null && current >= limit) {
      const message = `Cannot enrol: the plan has ${limit} replicas a connector, and ${current} exist`
      refuse('REPLICA_LIMIT_REACHED', message, { limit, current })
    }
    await insertReplica(tx, {
      id: replicaId,
      connectorId,
      name,
      version,
      remoteIp,
      tokenHash,
      startedAt: new Date(startedAt),
      lastHeartbeatAt: now,
      createdAt: now,
    })
    return found
  })
  return { replicaId, heartbeatToken, enrolled }
}

/** So that all who share an address stay below half of what it may ask. */
async function intervalAt({ db }: Deps, remoteIp: string): Promise<number> {
  const seconds = Math.ceil((await countAtAddress(db, remoteIp)) / ADDRESS_HEARTBEATS_PER_SECOND)
  return Math.max(HEARTBEAT_INTERVAL_SECONDS, seconds)
}

function tokenOf(authorization: string | undefined): string {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  return token
}

/** Whatever is wrong with it, nobody is told. (spec: Connector endpoints) */
function refuseToken(): never {
  refuse('UNAUTHORIZED', 'Token is missing or invalid')
}
