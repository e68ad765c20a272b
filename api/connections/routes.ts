import { z } from 'zod'

import {
  deleteConnection,
  findConnection,
  listConnections,
  type Connection as Row,
} from '../../core/db/configuration/connections.ts'
import {
  cancellationForConnection,
  addPendingCancellations,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { newId } from '../../core/ids.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { refuseMissing } from '../http/failure.ts'
import { Toggle } from '../http/fields.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { cancelWaiting } from '../writes/cancel-waiting.ts'
import { changed } from '../writes/changed.ts'
import { createResource, demandResource, note, writeResource } from '../writes/write-resource.ts'
import { CONNECTION, shownChanges } from './resource.ts'
import { Connection, ConnectionCreate, ConnectionUpdate, viewConnection } from './shape.ts'

const tag = 'Connections'
const read = { resource: 'connections', level: 'read' } as const
const write = { resource: 'connections', level: 'write' } as const
const noQuery = z.strictObject({})

export const CONNECTION_ROUTES = [
  route({
    method: 'GET',
    path: '/connections',
    operationId: 'listConnections',
    tag,
    summary: 'List the connections of a project',
    permission: read,
    scope: 'project',
    params: {},
    query: ListQuery,
    body: null,
    responses: { 200: listOf(Connection, 'ConnectionList') },
    errors: [],
    async handle({ deps, project, query }) {
      const list = readPage(query, 'connections', project())
      const rows = await listConnections(deps.db, project(), list.page)
      return { status: 200, body: toList(rows, list, viewConnection) }
    },
  }),
  route({
    method: 'POST',
    path: '/connections',
    operationId: 'createConnection',
    tag,
    summary: 'Connect a source to a destination',
    description: 'Ingest matches the next event of the source against it.',
    permission: write,
    scope: 'project',
    params: {},
    query: noQuery,
    body: ConnectionCreate,
    responses: { 201: Connection },
    errors: ['CONFLICT'],
    async handle(call) {
      return { status: 201, body: viewConnection(await createConnection(call)) }
    },
  }),
  route({
    method: 'GET',
    path: '/connections/:id',
    operationId: 'getConnection',
    tag,
    summary: 'Read a connection',
    permission: read,
    scope: 'reach',
    params: { id: 'con' },
    query: noQuery,
    body: null,
    responses: { 200: Connection },
    errors: [],
    async handle({ deps, reach, params }) {
      const connection = await findConnection(deps.db, reach, params.id)
      return { status: 200, body: viewConnection(connection ?? refuseMissing('con', params.id)) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/connections/:id',
    operationId: 'updateConnection',
    tag,
    summary: 'Change a connection',
    permission: write,
    scope: 'reach',
    params: { id: 'con' },
    query: noQuery,
    body: ConnectionUpdate,
    responses: { 200: Connection },
    errors: ['CONFLICT'],
    async handle(call) {
      const connection = await changeConnection(call, 'update', call.body.data)
      return { status: 200, body: viewConnection(connection) }
    },
  }),
  route({
    method: 'POST',
    path: '/connections/:id/toggle',
    operationId: 'toggleConnection',
    tag,
    summary: 'Switch a connection on or off',
    description: 'Deliveries that a disabled connection has already still go out.',
    permission: write,
    scope: 'reach',
    params: { id: 'con' },
    query: noQuery,
    body: Toggle,
    responses: { 200: Connection },
    errors: [],
    async handle(call) {
      const connection = await changeConnection(call, 'toggle', call.body)
      return { status: 200, body: viewConnection(connection) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/connections/:id',
    operationId: 'deleteConnection',
    tag,
    summary: 'Delete a connection',
    description: 'Cancels its waiting deliveries.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'con' },
    query: noQuery,
    body: null,
    responses: { 204: null },
    errors: [],
    async handle(call) {
      const { deps, reach, params } = call
      const connection = await deps.db.transaction().execute(async (tx) => {
        const found = await demandResource(tx, CONNECTION, reach, params.id)
        await addPendingCancellations(
          tx,
          [cancellationForConnection(found)],
          new Date(deps.clock.now()),
        )
        await deleteConnection(tx, found.id)
        await note(tx, call, CONNECTION, {
          verb: 'delete',
          row: found,
          shown: { name: found.name },
        })
        return found
      })
      await cancelWaiting(deps, [cancellationForConnection(connection)])
      await announceChanges(deps, [{ kind: 'source', id: connection.sourceId }])
      return { status: 204 }
    },
  }),
]

async function createConnection(
  call: Call<object, unknown, z.output<typeof ConnectionCreate>>,
): Promise<Row> {
  const { deps, principal, project, body } = call
  const now = new Date(deps.clock.now())
  const row: Row = {
    id: newId(now.getTime()),
    organisationId: principal.organisationId,
    projectId: project(),
    name: body.name,
    sourceId: body.sourceId,
    destinationId: body.destinationId,
    isEnabled: body.isEnabled ?? true,
    filter: body.filter ?? null,
    metadata: body.metadata ?? {},
    createdAt: now,
    updatedAt: now,
  }
  return await createResource(call, CONNECTION, row.name, { row, shown: shownChanges(body) })
}

async function changeConnection(
  call: Call<{ id: string }>,
  verb: 'update' | 'toggle',
  data: z.output<typeof ConnectionUpdate>['data'],
): Promise<Row> {
  const { row } = await writeResource(
    call,
    CONNECTION,
    { verb, name: data.name },
    (found, now) => ({
      row: {
        ...found,
        name: data.name ?? found.name,
        sourceId: data.sourceId ?? found.sourceId,
        destinationId: data.destinationId ?? found.destinationId,
        isEnabled: changed(data.isEnabled, found.isEnabled, true),
        filter: changed(data.filter, found.filter, null),
        metadata: changed(data.metadata, found.metadata, {}),
        updatedAt: now,
      },
      shown: shownChanges(data),
    }),
  )
  return row
}
