import { z } from 'zod'

import { findConnector, listConnectors } from '../../core/db/connectors/connectors.ts'
import { cancellationForDestination } from '../../core/db/deliveries/act/pending-cancellations.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cascade, NoMembers } from '../http/fields.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route } from '../http/route.ts'
import { cancelWaiting } from '../writes/cancel-waiting.ts'
import { createConnector, regenerateEnrollment, removeConnector, writeConnector } from './change.ts'
import {
  Connector,
  ConnectorCreate,
  ConnectorToggle,
  ConnectorUpdate,
  CreatedConnector,
  Enrollment,
  viewConnector,
} from './shape.ts'

const tag = 'Connectors'
const read = { resource: 'connectors', level: 'read' } as const
const write = { resource: 'connectors', level: 'write' } as const
const noQuery = z.strictObject({})

export const CONNECTOR_ROUTES = [
  route({
    method: 'GET',
    path: '/connectors',
    operationId: 'listConnectors',
    tag,
    summary: 'List the connectors of a project',
    permission: read,
    scope: 'project',
    params: {},
    query: ListQuery,
    body: null,
    responses: { 200: listOf(Connector, 'ConnectorList') },
    errors: [],
    async handle({ deps, project, query }) {
      const list = readPage(query, 'connectors', project())
      const rows = await listConnectors(deps.db, project(), list.page)
      return { status: 200, body: toList(rows, list, viewConnector) }
    },
  }),
  route({
    method: 'POST',
    path: '/connectors',
    operationId: 'createConnector',
    tag,
    summary: 'Create a connector',
    description:
      'Only this answer shows the enrolment key. `provisionedAt` is null until a gateway has taken the connector over, which takes a second at most. Returns `BAD_REQUEST` if the installation has no gateway.',
    permission: { ...write, isExplicit: true },
    scope: 'project',
    params: {},
    query: noQuery,
    body: ConnectorCreate,
    responses: { 201: CreatedConnector },
    isSecret: true,
    errors: ['CONNECTOR_LIMIT_REACHED', 'CONFLICT'],
    async handle(call) {
      const { row, enrollmentKey } = await createConnector(call, call.body)
      return { status: 201, body: { ...viewConnector(row), enrollmentKey } }
    },
  }),
  route({
    method: 'GET',
    path: '/connectors/:id',
    operationId: 'getConnector',
    tag,
    summary: 'Read a connector',
    permission: read,
    scope: 'reach',
    params: { id: 'cnr' },
    query: noQuery,
    body: null,
    responses: { 200: Connector },
    errors: [],
    async handle({ deps, reach, params }) {
      const row = await findConnector(deps.db, reach, params.id)
      return { status: 200, body: viewConnector(row ?? refuseMissing('cnr', params.id)) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/connectors/:id',
    operationId: 'updateConnector',
    tag,
    summary: 'Change a connector',
    description: 'Connected agents get changed `allowedHosts` at once.',
    permission: write,
    scope: 'reach',
    params: { id: 'cnr' },
    query: noQuery,
    body: ConnectorUpdate,
    responses: { 200: Connector },
    errors: ['CONFLICT'],
    async handle(call) {
      const row = await writeConnector(call, 'update', call.body.data)
      return { status: 200, body: viewConnector(row) }
    },
  }),
  route({
    method: 'POST',
    path: '/connectors/:id/toggle-disabled',
    operationId: 'toggleConnector',
    tag,
    summary: 'Disable or enable a connector',
    description:
      'Disabling ends the sessions of its replicas within a second. Deliveries through the connector wait, and go out when it is enabled.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'cnr' },
    query: noQuery,
    body: ConnectorToggle,
    responses: { 200: Connector },
    errors: [],
    async handle(call) {
      const row = await writeConnector(call, 'toggle', call.body)
      return { status: 200, body: viewConnector(row) }
    },
  }),
  route({
    method: 'POST',
    path: '/connectors/:id/regenerate-enrollment',
    operationId: 'regenerateEnrollment',
    tag,
    summary: 'Replace the enrolment key of a connector',
    description:
      'The former key stops working; replicas that have enrolled keep their sessions. Only this answer shows the new key.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'cnr' },
    query: noQuery,
    body: NoMembers,
    responses: { 200: Enrollment },
    isSecret: true,
    errors: [],
    async handle(call) {
      const enrollmentKey = await regenerateEnrollment({ ...call, id: call.params.id })
      return { status: 200, body: { enrollmentKey } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/connectors/:id',
    operationId: 'deleteConnector',
    tag,
    summary: 'Delete a connector',
    description:
      'The sessions of its replicas end within a second. If destinations use the connector, this needs `cascade=true` and a key that may delete them and their connections; deliveries that wait for them are cancelled.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'cnr' },
    query: z.strictObject({ cascade: Cascade }),
    body: null,
    responses: { 204: null },
    errors: ['CONNECTOR_PROVISIONING', 'CONFLICT'],
    async handle(call) {
      const { deps, params, query } = call
      const removed = await removeConnector({ ...call, id: params.id }, query.cascade)
      await cancelWaiting(deps, removed.destinationIds.map(cancellationForDestination))
      await announceChanges(deps, [
        ...removed.destinationIds.map((id) => ({ kind: 'destination' as const, id })),
        ...removed.sourceIds.map((id) => ({ kind: 'source' as const, id })),
      ])
      return { status: 204 }
    },
  }),
]
