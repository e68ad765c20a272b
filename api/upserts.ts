import { z } from 'zod'

import { lockByName, lockProjectByName } from '../core/db/configuration/by-name.ts'
import {
  CONNECTION_NAME_TAKEN,
  connectionsOf,
  findConnection,
  insertConnection,
  updateConnection,
  type Connection as ConnectionRow,
} from '../core/db/configuration/connections.ts'
import {
  DESTINATION_NAME_TAKEN,
  findDestination,
  insertDestination,
  type Destination as DestinationRow,
} from '../core/db/configuration/destinations.ts'
import {
  findProject,
  insertProject,
  PROJECT_NAME_TAKEN,
  updateProject,
  type Project as ProjectRow,
} from '../core/db/configuration/projects.ts'
import {
  findSource,
  insertSource,
  SOURCE_NAME_TAKEN,
  updateSource,
  type ActiveSource,
} from '../core/db/configuration/sources.ts'
import { refuseField } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { announceChanges } from '../core/notices/config-changes.ts'
import { openDestinationSecrets } from '../core/secrets/destination-secrets.ts'
import { openSourceSecrets } from '../core/secrets/source-secrets.ts'
import { checkEnds, shownChanges as shownConnection } from './connections/routes.ts'
import { Connection, ConnectionUpsert, viewConnection } from './connections/shape.ts'
import {
  changeDestination,
  checkConnector,
  newDestination,
  nudgeResumed,
  saveDestination,
  shownChanges as shownDestination,
} from './destinations/change.ts'
import {
  Destination,
  DestinationUpsert,
  viewDestination,
  type DestinationChanges,
} from './destinations/shape.ts'
import { route, type Call } from './http/route.ts'
import { refuseBound } from './projects/routes.ts'
import { Project, ProjectUpsert, viewProject } from './projects/shape.ts'
import { changeSource, newSource, shownChanges as shownSource } from './sources/change.ts'
import { Source, SourceUpsert, type SourceChanges } from './sources/shape.ts'
import { showSource } from './sources/view.ts'
import { refuseOtherName, upsert, type Upserted } from './writes/upsert.ts'

const noQuery = z.strictObject({})

const RULES =
  'For declarative clients: 201 if created, 200 if updated or already identical (in which case nothing is written). ' +
  'The body is the whole configuration: a member that is left out takes its default.'

const OWN_STATE = '`isEnabled` is the exception: it stays as it is when left out.'

export const UPSERT_ROUTES = [
  route({
    method: 'PUT',
    path: '/projects/by-name/:name',
    operationId: 'upsertProject',
    tag: 'Projects',
    summary: 'Create or change a project by its name',
    description: RULES,
    permission: { resource: 'projects', level: 'write' },
    scope: 'reach',
    params: { name: 'name' },
    query: noQuery,
    body: ProjectUpsert,
    responses: { 200: Project, 201: Project },
    errors: ['CONFLICT'],
    async handle(call) {
      return answerOf(await upsertProject(call), viewProject)
    },
  }),
  route({
    method: 'PUT',
    path: '/sources/by-name/:name',
    operationId: 'upsertSource',
    tag: 'Sources',
    summary: 'Create or change a source by its name',
    description: `${RULES} ${OWN_STATE} A verifier without its secret keeps the stored one if preset and type stay the same, and \`handshake\` stays when left out. Sending the current secret does not end a rotation. \`kind\` cannot change.`,
    permission: { resource: 'sources', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: noQuery,
    body: SourceUpsert,
    responses: { 200: Source, 201: Source },
    errors: ['CONFLICT'],
    async handle(call) {
      const upserted = await upsertSource(call)
      const shown = await showSource(call.deps, upserted.row)
      return answerOf(upserted, () => shown)
    },
  }),
  route({
    method: 'PUT',
    path: '/destinations/by-name/:name',
    operationId: 'upsertDestination',
    tag: 'Destinations',
    summary: 'Create or change a destination by its name',
    description: `${RULES} ${OWN_STATE} \`auth\` without its secret keeps the stored secret if the type stays the same, and a header whose value is \`***\` keeps its stored value, unless the origin of \`url\` or \`tokenUrl\` changes. The signing secret never changes.`,
    permission: { resource: 'destinations', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: noQuery,
    body: DestinationUpsert,
    responses: { 200: Destination, 201: Destination },
    errors: ['CONFLICT'],
    async handle(call) {
      const nowMs = call.deps.clock.now()
      return answerOf(await upsertDestination(call), (row) => viewDestination(row, nowMs))
    },
  }),
  route({
    method: 'PUT',
    path: '/connections/by-name/:name',
    operationId: 'upsertConnection',
    tag: 'Connections',
    summary: 'Create or change a connection by its name',
    description: `${RULES} ${OWN_STATE}`,
    permission: { resource: 'connections', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: noQuery,
    body: ConnectionUpsert,
    responses: { 200: Connection, 201: Connection },
    errors: ['CONFLICT'],
    async handle(call) {
      return answerOf(await upsertConnection(call), viewConnection)
    },
  }),
]

type ByName<B extends z.ZodType> = Call<{ name: string }, unknown, z.output<B>>

function answerOf<R, V>(
  { before, row }: Upserted<R>,
  view: (row: R) => V,
): { status: 200; body: V } | { status: 201; body: V } {
  const body = view(row)
  return before === undefined ? { status: 201, body } : { status: 200, body }
}

async function upsertProject(call: ByName<typeof ProjectUpsert>): Promise<Upserted<ProjectRow>> {
  const { principal, reach, params, body } = call
  refuseOtherName(params.name, body.name)
  const named = { organisationId: principal.organisationId, name: params.name }
  const metadata = body.metadata ?? {}
  return await upsert(call, {
    kind: 'project',
    constraint: PROJECT_NAME_TAKEN,
    async find(tx) {
      const id = await lockProjectByName(tx, named)
      return id === undefined ? undefined : await findProject(tx, reach, id)
    },
    make(now) {
      refuseBound(principal)
      const id = newId(now.getTime())
      return { ...named, id, isDefault: false, metadata, createdAt: now, updatedAt: now }
    },
    declare: (before, now) => ({ ...before, metadata, updatedAt: now }),
    insert: insertProject,
    update: updateProject,
    projectIdOf: (row) => row.id,
    shown: { ...body, name: params.name },
  })
}

/** Defaults of the members of a source that no preset chooses. */
const SOURCE_DEFAULTS = {
  verifier: null,
  idempotencyKeys: null,
  maxPayloadSizeKb: null,
  metadata: null,
} satisfies Record<
  Exclude<
    keyof SourceChanges,
    'name' | 'isEnabled' | 'handshake' | 'eventTypeField' | 'allowedMethods' | 'ingestResponse'
  >,
  null
>

async function upsertSource(call: ByName<typeof SourceUpsert>): Promise<Upserted<ActiveSource>> {
  const { deps, params } = call
  const named = placeOf(call)
  const { kind, name, ...body } = call.body
  refuseOtherName(params.name, name)
  const upserted = await upsert<ActiveSource>(call, {
    kind: 'source',
    constraint: SOURCE_NAME_TAKEN,
    async find(tx) {
      const id = await lockByName(tx, 'source', named)
      return id === undefined ? undefined : await findSource(tx, named, id)
    },
    make(now) {
      const given = { ...named, id: newId(now.getTime()), kind: kind ?? 'http' }
      const fresh = newSource(given, body.verifier, now)
      return { ...fresh, lastEventAt: null, lastHandshakeAt: null }
    },
    declare(before, now) {
      if (kind !== undefined && kind !== before.kind) refuseField('body.kind', 'Cannot be changed')
      const { eventTypeField, allowedMethods, ingestResponse } = newSource(
        before,
        body.verifier,
        now,
      )
      const base = { ...before, eventTypeField, allowedMethods, ingestResponse }
      const changes = { ...SOURCE_DEFAULTS, ...body }
      return changeSource(deps.keyring, base, changes, { part: 'body', now })
    },
    insert: insertSource,
    update: updateSource,
    projectIdOf: (row) => row.projectId,
    secretsOf: (row) => openSourceSecrets(deps.keyring, row),
    shown: shownSource({ ...body, name: params.name }),
  })
  await announceChanges(deps, [{ kind: 'source', id: upserted.row.id }])
  return upserted
}

const DESTINATION_DEFAULTS = {
  mode: null,
  connectorId: null,
  method: null,
  headers: null,
  auth: null,
  timeoutMs: null,
  rateLimit: null,
  rateLimitPeriod: null,
  maxConcurrency: null,
  retryPolicy: null,
  metadata: null,
} satisfies Record<Exclude<keyof DestinationChanges, 'name' | 'url' | 'isEnabled'>, null>

async function upsertDestination(
  call: ByName<typeof DestinationUpsert>,
): Promise<Upserted<DestinationRow>> {
  const { deps, params } = call
  const named = placeOf(call)
  const { name, ...body } = call.body
  refuseOtherName(params.name, name)
  const upserted = await upsert<DestinationRow>(call, {
    kind: 'destination',
    constraint: DESTINATION_NAME_TAKEN,
    async find(tx) {
      const id = await lockByName(tx, 'destination', named)
      return id === undefined ? undefined : await findDestination(tx, named, id)
    },
    make: (now) => newDestination(deps, { ...named, id: newId(now.getTime()), url: body.url }, now),
    declare: (before, now) =>
      changeDestination(deps, before, { ...DESTINATION_DEFAULTS, ...body }, { part: 'body', now }),
    check: async (tx, row) => await checkConnector(tx, row, 'body'),
    insert: insertDestination,
    update: saveDestination,
    projectIdOf: (row) => row.projectId,
    secretsOf: (row) => openDestinationSecrets(deps.keyring, row),
    shown: shownDestination({ ...body, name: params.name }),
  })
  const { id } = upserted.row
  const connections = await connectionsOf(deps.db, 'destination_id', id)
  const sources = new Set(connections.map(({ sourceId }) => sourceId))
  await announceChanges(deps, [
    { kind: 'destination', id },
    ...[...sources].map((sourceId) => ({ kind: 'source' as const, id: sourceId })),
  ])
  nudgeResumed(deps, upserted.row)
  return upserted
}

async function upsertConnection(
  call: ByName<typeof ConnectionUpsert>,
): Promise<Upserted<ConnectionRow>> {
  const { deps, params } = call
  const named = placeOf(call)
  const { name, isEnabled, ...body } = call.body
  refuseOtherName(params.name, name)
  const ends = { sourceId: body.sourceId, destinationId: body.destinationId }
  const declared = { ...ends, filter: body.filter ?? null, metadata: body.metadata ?? {} }
  const upserted = await upsert<ConnectionRow>(call, {
    kind: 'connection',
    constraint: CONNECTION_NAME_TAKEN,
    async find(tx) {
      const id = await lockByName(tx, 'connection', named)
      return id === undefined ? undefined : await findConnection(tx, named, id)
    },
    make(now) {
      const fresh = { id: newId(now.getTime()), isEnabled: true, createdAt: now, updatedAt: now }
      return { ...named, ...declared, ...fresh }
    },
    declare(before, now) {
      const enabled = isEnabled === undefined ? before.isEnabled : (isEnabled ?? true)
      return { ...before, ...declared, isEnabled: enabled, updatedAt: now }
    },
    check: async (tx, row) => await checkEnds(deps, tx, row),
    insert: insertConnection,
    update: updateConnection,
    projectIdOf: (row) => row.projectId,
    shown: shownConnection({ ...call.body, name: params.name }),
  })
  const { before, row } = upserted
  const sources = new Set([before?.sourceId ?? row.sourceId, row.sourceId])
  await announceChanges(
    deps,
    [...sources].map((id) => ({ kind: 'source', id })),
  )
  return upserted
}

function placeOf({ principal, project, params }: Call<{ name: string }>): {
  organisationId: string
  projectId: string
  name: string
} {
  return {
    organisationId: principal.organisationId,
    projectId: project(),
    name: params.name,
  }
}
