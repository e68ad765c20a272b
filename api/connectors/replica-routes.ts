import { z } from 'zod'

import { findConnector, type SeenConnector } from '../../core/db/connectors/connectors.ts'
import { listReplicas, revokeReplica } from '../../core/db/connectors/replicas.ts'
import { noticeConnectors } from '../../core/notices/connector-notices.ts'
import { refuseMissing } from '../http/failure.ts'
import { NoMembers } from '../http/fields.ts'
import { listOf, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { audit } from '../writes/transact.ts'
import { Replica, ReplicaListQuery, viewReplica } from './replica-shape.ts'

const tag = 'Connectors'

export const REPLICA_ROUTES = [
  route({
    method: 'GET',
    path: '/connectors/:id/replicas',
    operationId: 'listReplicas',
    tag,
    summary: 'List the replicas of a connector',
    permission: { resource: 'connectors', level: 'read' },
    scope: 'reach',
    params: { id: 'cnr' },
    query: ReplicaListQuery,
    body: null,
    responses: { 200: listOf(Replica, 'ReplicaList') },
    errors: [],
    async handle(call) {
      const { id } = await connectorOf(call)
      const list = readPage(call.query, 'replicas', id)
      const rows = await listReplicas(call.deps.db, id, list.page)
      return { status: 200, body: toList(rows, list, viewReplica) }
    },
  }),
  route({
    method: 'POST',
    path: '/connectors/:id/replicas/:replicaId/revoke',
    operationId: 'revokeReplica',
    tag,
    summary: 'Revoke a replica',
    description:
      'Its session ends within a second, and its token is refused with the reason `replica_revoked`. This cannot be undone.',
    permission: { resource: 'connectors', level: 'write', isExplicit: true },
    scope: 'reach',
    params: { id: 'cnr', replicaId: 'rpl' },
    query: z.strictObject({}),
    body: NoMembers,
    responses: { 200: Replica },
    errors: [],
    async handle(call) {
      const { deps, principal, params } = call
      const connector = await connectorOf(call)
      const replica = await deps.db.transaction().execute(async (tx) => {
        const of = { connectorId: connector.id, id: params.replicaId }
        const row = await revokeReplica(tx, of, new Date(deps.clock.now()))
        if (row === undefined) return refuseMissing('rpl', params.replicaId)
        await audit(tx, deps, {
          principal,
          projectId: connector.projectId,
          kind: 'replica',
          verb: 'revoke',
          id: row.id,
          changes: { name: row.name },
        })
        return row
      })
      noticeConnectors(deps.nats, [connector.id])
      return { status: 200, body: viewReplica(replica) }
    },
  }),
]

async function connectorOf({ deps, reach, params }: Call<{ id: string }>): Promise<SeenConnector> {
  return (await findConnector(deps.db, reach, params.id)) ?? refuseMissing('cnr', params.id)
}
