import { z } from 'zod'

import {
  CONNECTION_NAME_TAKEN,
  deleteConnection,
  findConnection,
  hasRoomFor,
  insertConnection,
  listConnections,
  updateConnection,
  type Connection as Row,
} from '../../core/db/configuration/connections.ts'
import { findDestination } from '../../core/db/configuration/destinations.ts'
import { findSource } from '../../core/db/configuration/sources.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { doomedConnection, doomRoutes } from '../../core/db/deliveries/act/doomed-routes.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { refuseField } from '../../core/errors.ts'
import { encodeId, newId } from '../../core/ids.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { endWaiting } from '../writes/cancel-waiting.ts'
import { audit, transact } from '../writes/transact.ts'
import { Connection, ConnectionCreate, ConnectionUpdate, Toggle, viewConnection } from './shape.ts'

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
    async handle({ deps, principal, reach, params }) {
      const connection = await deps.db.transaction().execute(async (tx) => {
        const found =
          (await findConnection(tx, reach, params.id, { lock: true })) ??
          refuseMissing('con', params.id)
        await doomRoutes(tx, [doomedConnection(found)], new Date(deps.clock.now()))
        await deleteConnection(tx, found.id)
        await audit(tx, deps, {
          principal,
          projectId: found.projectId,
          kind: 'connection',
          verb: 'delete',
          id: found.id,
          changes: { name: found.name },
        })
        return found
      })
      await endWaiting(deps, [doomedConnection(connection)])
      await announceChanges(deps, [{ kind: 'source', id: connection.sourceId }])
      return { status: 204 }
    },
  }),
]

async function createConnection({
  deps,
  principal,
  project,
  body,
}: Call<object, unknown, z.output<typeof ConnectionCreate>>): Promise<Row> {
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
  await transact(deps, { constraint: CONNECTION_NAME_TAKEN, name: row.name }, async (tx) => {
    await checkEnds(deps, tx, row)
    await insertConnection(tx, row)
    await audit(tx, deps, {
      principal,
      projectId: row.projectId,
      kind: 'connection',
      verb: 'create',
      id: row.id,
      changes: shownChanges(body),
    })
  })
  await announceChanges(deps, [{ kind: 'source', id: row.sourceId }])
  return row
}

async function changeConnection(
  { deps, principal, reach, params }: Call<{ id: string }>,
  verb: 'update' | 'toggle',
  data: z.output<typeof ConnectionUpdate>['data'],
): Promise<Row> {
  const taken = { constraint: CONNECTION_NAME_TAKEN, name: data.name }
  const { before, after } = await transact(deps, taken, async (tx) => {
    const found =
      (await findConnection(tx, reach, params.id, { lock: true })) ??
      refuseMissing('con', params.id)
    const changed: Row = {
      ...found,
      name: data.name ?? found.name,
      sourceId: data.sourceId ?? found.sourceId,
      destinationId: data.destinationId ?? found.destinationId,
      isEnabled: data.isEnabled === undefined ? found.isEnabled : (data.isEnabled ?? true),
      filter: data.filter === undefined ? found.filter : data.filter,
      metadata: data.metadata === undefined ? found.metadata : (data.metadata ?? {}),
      updatedAt: new Date(deps.clock.now()),
    }
    await checkEnds(deps, tx, changed)
    await updateConnection(tx, changed)
    await audit(tx, deps, {
      principal,
      projectId: found.projectId,
      kind: 'connection',
      verb,
      id: found.id,
      changes: shownChanges(data),
    })
    return { before: found, after: changed }
  })
  const sources = new Set([before.sourceId, after.sourceId])
  await announceChanges(
    deps,
    [...sources].map((id) => ({ kind: 'source', id })),
  )
  return after
}

/**
 * Both ends are in the connection's own project; locked, so that neither is deleted under it. The source has room for it:
 * each of its events is matched with all its connections.
 */
export async function checkEnds(
  { connectionsPerSource }: Pick<Deps, 'connectionsPerSource'>,
  tx: Db,
  row: Row,
): Promise<void> {
  const reach: Reach = { organisationId: row.organisationId, projectId: row.projectId }
  const lock = { lock: true }
  if ((await findSource(tx, reach, row.sourceId, lock)) === undefined) {
    refuseMissing('src', row.sourceId)
  }
  if ((await findDestination(tx, reach, row.destinationId, lock)) === undefined) {
    refuseMissing('dst', row.destinationId)
  }
  if (!(await hasRoomFor(tx, row, connectionsPerSource))) {
    refuseField('body.sourceId', `This source has ${connectionsPerSource} connections, the most`)
  }
}

/** Ids leave as they came in. */
export function shownChanges(
  data: z.output<typeof ConnectionUpdate>['data'],
): Record<string, unknown> {
  const { sourceId, destinationId, ...rest } = data
  return {
    ...rest,
    ...(sourceId !== undefined && { sourceId: encodeId('src', sourceId) }),
    ...(destinationId !== undefined && { destinationId: encodeId('dst', destinationId) }),
  }
}
