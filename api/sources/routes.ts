import { z } from 'zod'

import type { Connection } from '../../core/db/configuration/connections.ts'
import {
  deleteSource,
  findSource,
  listSources,
  type ActiveSource,
} from '../../core/db/configuration/sources.ts'
import {
  cancellationForConnection,
  addPendingCancellations,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { newId } from '../../core/ids.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cascade, Toggle } from '../http/fields.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { cancelWaiting } from '../writes/cancel-waiting.ts'
import { cascadeOf } from '../writes/cascade.ts'
import { createResource, demandResource, note, writeResource } from '../writes/write-resource.ts'
import { changeSource, newSource, shownChanges } from './change.ts'
import { SOURCE } from './resource.ts'
import { Source, SourceCreate, SourceUpdate, type SourceChanges } from './shape.ts'
import { showSource, sourceViewer } from './view.ts'

const tag = 'Sources'
const read = { resource: 'sources', level: 'read' } as const
const write = { resource: 'sources', level: 'write' } as const
const noQuery = z.strictObject({})

export const SOURCE_ROUTES = [
  route({
    method: 'GET',
    path: '/sources',
    operationId: 'listSources',
    tag,
    summary: 'List the sources of a project',
    permission: read,
    scope: 'project',
    params: {},
    query: ListQuery,
    body: null,
    responses: { 200: listOf(Source, 'SourceList') },
    errors: [],
    async handle({ deps, project, query }) {
      const list = readPage(query, 'sources', project())
      const rows = await listSources(deps.db, project(), list.page)
      const view = await sourceViewer(deps, rows)
      return { status: 200, body: toList(rows, list, view) }
    },
  }),
  route({
    method: 'POST',
    path: '/sources',
    operationId: 'createSource',
    tag,
    summary: 'Create a source',
    description: 'Its `ingestUrl` accepts webhooks from this answer on.',
    permission: write,
    scope: 'project',
    params: {},
    query: noQuery,
    body: SourceCreate,
    responses: { 201: Source },
    errors: ['CONFLICT'],
    async handle(call) {
      const row = await createSource(call)
      return { status: 201, body: await showSource(call.deps, row) }
    },
  }),
  route({
    method: 'GET',
    path: '/sources/:id',
    operationId: 'getSource',
    tag,
    summary: 'Read a source',
    permission: read,
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: null,
    responses: { 200: Source },
    errors: [],
    async handle({ deps, reach, params }) {
      const row = (await findSource(deps.db, reach, params.id)) ?? refuseMissing('src', params.id)
      return { status: 200, body: await showSource(deps, row) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/sources/:id',
    operationId: 'updateSource',
    tag,
    summary: 'Change a source',
    description:
      'A given verifier replaces the stored one. If it comes without a secret, the stored secret stays, provided that preset and type are the same.',
    permission: write,
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: SourceUpdate,
    responses: { 200: Source },
    errors: ['CONFLICT'],
    async handle(call) {
      const row = await change(call, call.body.data, { verb: 'update', part: 'body.data' })
      return { status: 200, body: await showSource(call.deps, row) }
    },
  }),
  route({
    method: 'POST',
    path: '/sources/:id/toggle',
    operationId: 'toggleSource',
    tag,
    summary: 'Switch a source on or off',
    description: 'The ingest address of a disabled source answers 404.',
    permission: write,
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: Toggle,
    responses: { 200: Source },
    errors: [],
    async handle(call) {
      const row = await change(call, call.body, { verb: 'toggle', part: 'body' })
      return { status: 200, body: await showSource(call.deps, row) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/sources/:id',
    operationId: 'deleteSource',
    tag,
    summary: 'Delete a source',
    description:
      'Its events stay. If connections use the source, this needs `cascade=true` and a key that may delete connections; their waiting deliveries are cancelled.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'src' },
    query: z.strictObject({ cascade: Cascade }),
    body: null,
    responses: { 204: null },
    errors: ['CONFLICT'],
    async handle(call) {
      const connections = await removeSource(call)
      await cancelWaiting(call.deps, connections.map(cancellationForConnection))
      await announceChanges(call.deps, [{ kind: 'source', id: call.params.id }])
      return { status: 204 }
    },
  }),
]

async function createSource(
  call: Call<object, unknown, z.output<typeof SourceCreate>>,
): Promise<ActiveSource> {
  const { deps, principal, project, body } = call
  const now = new Date(deps.clock.now())
  const given = {
    id: newId(now.getTime()),
    organisationId: principal.organisationId,
    projectId: project(),
    name: body.name,
    kind: body.kind ?? 'http',
  }
  const fresh = newSource(given, body.verifier, now)
  const row = changeSource(deps.keyring, fresh, body, { part: 'body', now })
  return await createResource(call, SOURCE, row.name, { row, shown: shownChanges(body) })
}

async function change(
  call: Call<{ id: string }>,
  changes: SourceChanges,
  { verb, part }: { verb: 'update' | 'toggle'; part: string },
): Promise<ActiveSource> {
  const { row } = await writeResource(call, SOURCE, { verb, name: changes.name }, (found, now) => ({
    row: changeSource(call.deps.keyring, found, changes, { part, now }),
    shown: shownChanges(changes),
  }))
  return row
}

async function removeSource(
  call: Call<{ id: string }, { cascade: boolean }>,
): Promise<Connection[]> {
  const { deps, reach, params } = call
  return await deps.db.transaction().execute(async (tx) => {
    const found = await demandResource(tx, SOURCE, reach, params.id)
    const connections = await cascadeOf(tx, call, 'source', found.id)
    await addPendingCancellations(
      tx,
      connections.map(cancellationForConnection),
      new Date(deps.clock.now()),
    )
    await deleteSource(tx, found.id)
    const shown = { name: found.name, connections: connections.map(({ name }) => name) }
    await note(tx, call, SOURCE, { verb: 'delete', row: found, shown })
    return connections
  })
}
