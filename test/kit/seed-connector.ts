import { insertConnector } from '../../core/db/connectors/connectors.ts'
import { insertReplica } from '../../core/db/connectors/replicas.ts'
import { decodeId, encodeId, newId } from '../../core/ids.ts'
import { makeSecret } from '../../core/keys/secret-text.ts'
import type { World } from './world.ts'

export interface SeededConnector {
  connectorId: string
  replicaId: string
}

type Of = Pick<World, 'db' | 'clock' | 'organisationId' | 'projectId'>

/** A connector of a tenant, and a replica of it, without a gateway. */
export async function seedConnector(of: Of): Promise<SeededConnector> {
  const { connectorId, replicaId } = await seedReplica(of)
  return { connectorId, replicaId }
}

/** The same with the token of the replica. */
export async function seedReplica({
  db,
  clock,
  organisationId,
  projectId,
}: Of): Promise<SeededConnector & { token: string }> {
  const now = new Date(clock.now())
  const id = newId(now.getTime())
  await insertConnector(db, {
    id,
    organisationId: decodeId('org', organisationId) ?? '',
    projectId: decodeId('prj', projectId) ?? '',
    name: `seeded ${id}`,
    isDisabled: false,
    provisionedAt: now,
    allowedHosts: [],
    enrollmentHash: makeSecret('pst', 'enr').hash,
    metadata: {},
    createdAt: now,
    updatedAt: now,
  })
  const replicaId = newId(now.getTime())
  const { text: token, hash: tokenHash } = makeSecret('pst', 'hb')
  await insertReplica(db, {
    id: replicaId,
    connectorId: id,
    name: 'seeded',
    version: '1',
    remoteIp: '192.0.2.1',
    tokenHash,
    startedAt: now,
    lastHeartbeatAt: now,
    createdAt: now,
  })
  return { connectorId: encodeId('cnr', id), replicaId: encodeId('rpl', replicaId), token }
}
