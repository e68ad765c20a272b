import { insertConnector } from '../core/db/connectors/connectors.ts'
import { insertReplica } from '../core/db/connectors/replicas.ts'
import { decodeId, encodeId, newId } from '../core/ids.ts'
import { makeSecret } from '../core/keys/secret-text.ts'
import type { World } from './world.ts'

export interface SeededConnector {
  connectorId: string
  replicaId: string
}

/** A connector of a tenant, and a replica of it, without a gateway. */
export async function seedConnector({
  db,
  clock,
  organisationId,
  projectId,
}: Pick<World, 'db' | 'clock' | 'organisationId' | 'projectId'>): Promise<SeededConnector> {
  const now = new Date(clock.now())
  const id = newId(now.getTime())
  await insertConnector(db, {
    id,
    organisationId: decodeId('org', organisationId) ?? '',
    projectId: decodeId('prj', projectId) ?? '',
    name: 'seeded',
    isDisabled: false,
    provisionedAt: now,
    allowedHosts: [],
    enrollmentHash: makeSecret('pst', 'enr').hash,
    metadata: {},
    createdAt: now,
    updatedAt: now,
  })
  const replicaId = newId(now.getTime())
  await insertReplica(db, {
    id: replicaId,
    connectorId: id,
    name: 'seeded',
    version: '1',
    remoteIp: '192.0.2.1',
    tokenHash: makeSecret('pst', 'hb').hash,
    startedAt: now,
    lastHeartbeatAt: now,
    createdAt: now,
  })
  return { connectorId: encodeId('cnr', id), replicaId: encodeId('rpl', replicaId) }
}
