import { z } from 'zod'

import {
  deleteProject,
  findProject,
  listProjects,
  projectContents,
} from '../../core/db/configuration/projects.ts'
import { deleteConnector } from '../../core/db/connectors/connectors.ts'
import { refuse } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { announceChanges, type ConfigChange } from '../../core/notices/config-changes.ts'
import { noticeConnectors } from '../../core/notices/connector-notices.ts'
import { withdrawDeleted } from '../../core/notices/withdrawals.ts'
import { demand, type Principal } from '../auth/principal.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cascade } from '../http/fields.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { changed } from '../writes/changed.ts'
import { createResource, demandResource, note, writeResource } from '../writes/write-resource.ts'
import { PROJECT } from './resource.ts'
import { Project, ProjectCreate, ProjectUpdate, viewProject } from './shape.ts'

const tag = 'Projects'

/** A project is not inside a project: lists and creates need none, so that there is no FORBIDDEN here. */
export const PROJECT_ROUTES = [
  route({
    method: 'GET',
    path: '/projects',
    operationId: 'listProjects',
    tag,
    summary: 'List the projects that the key reaches',
    permission: { resource: 'projects', level: 'read' },
    scope: 'reach',
    params: {},
    query: ListQuery,
    body: null,
    responses: { 200: listOf(Project, 'ProjectList') },
    errors: [],
    async handle({ deps, reach, query }) {
      const list = readPage(query, 'projects', reach.projectId ?? reach.organisationId)
      const rows = await listProjects(deps.db, reach, list.page)
      return { status: 200, body: toList(rows, list, viewProject) }
    },
  }),
  route({
    method: 'POST',
    path: '/projects',
    operationId: 'createProject',
    tag,
    summary: 'Create a project',
    description: 'A key that is bound to one project cannot create others.',
    permission: { resource: 'projects', level: 'write' },
    scope: 'reach',
    params: {},
    query: z.strictObject({}),
    body: ProjectCreate,
    responses: { 201: Project },
    errors: ['CONFLICT'],
    async handle(call) {
      const { deps, principal, body } = call
      refuseBound(principal)
      const now = new Date(deps.clock.now())
      const project = {
        id: newId(now.getTime()),
        organisationId: principal.organisationId,
        name: body.name,
        isDefault: false,
        metadata: body.metadata ?? {},
        createdAt: now,
        updatedAt: now,
      }
      const shown = { name: project.name, metadata: project.metadata }
      await createResource(call, PROJECT, body.name, { row: project, shown })
      return { status: 201, body: viewProject(project) }
    },
  }),
  route({
    method: 'GET',
    path: '/projects/:id',
    operationId: 'getProject',
    tag,
    summary: 'Read a project',
    permission: { resource: 'projects', level: 'read' },
    scope: 'reach',
    params: { id: 'prj' },
    query: z.strictObject({}),
    body: null,
    responses: { 200: Project },
    errors: [],
    async handle({ deps, reach, params }) {
      const project = await findProject(deps.db, reach, params.id)
      return { status: 200, body: viewProject(project ?? refuseMissing('prj', params.id)) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/projects/:id',
    operationId: 'updateProject',
    tag,
    summary: 'Change a project',
    permission: { resource: 'projects', level: 'write' },
    scope: 'reach',
    params: { id: 'prj' },
    query: z.strictObject({}),
    body: ProjectUpdate,
    responses: { 200: Project },
    errors: ['CONFLICT'],
    async handle(call) {
      const { data } = call.body
      const wish = { verb: 'update', name: data.name } as const
      const { row } = await writeResource(call, PROJECT, wish, (found, now) => ({
        row: {
          ...found,
          name: data.name ?? found.name,
          metadata: changed(data.metadata, found.metadata, {}),
          updatedAt: now,
        },
        shown: data,
      }))
      return { status: 200, body: viewProject(row) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/projects/:id',
    operationId: 'deleteProject',
    tag,
    summary: 'Delete a project',
    description:
      'The default project cannot be deleted. If the project holds sources, destinations, connections or connectors, this needs `cascade=true` and a key that may delete them.',
    permission: { resource: 'projects', level: 'write', isExplicit: true },
    scope: 'reach',
    params: { id: 'prj' },
    query: z.strictObject({ cascade: Cascade }),
    body: null,
    responses: { 204: null },
    errors: ['CONFLICT'],
    async handle(call) {
      const { changes, connectorIds } = await removeProject(call)
      if (connectorIds.length > 0) noticeConnectors(call.deps.nats, connectorIds)
      const deleted = changes.filter(({ kind }) => kind === 'destination')
      await withdrawDeleted(
        call.deps,
        deleted.map(({ id }) => id),
      )
      await announceChanges(call.deps, changes)
      return { status: 204 }
    },
  }),
]

/** (spec: Authentication 2) */
export function refuseBound({ isBound }: Principal): void {
  if (isBound) {
    refuse(
      'INSUFFICIENT_API_KEY_PERMISSIONS',
      'Cannot create a project with an API key that is bound to one project',
    )
  }
}

async function removeProject(
  call: Call<{ id: string }, { cascade: boolean }>,
): Promise<{ changes: ConfigChange[]; connectorIds: string[] }> {
  const { deps, principal, reach, params, query } = call
  return await deps.db.transaction().execute(async (tx) => {
    const project = await demandResource(tx, PROJECT, reach, params.id)
    if (project.isDefault) refuse('CONFLICT', 'Cannot delete project: it is the default project')
    const { sourceIds, destinationIds, connectorIds, connections } = await projectContents(
      tx,
      project.id,
    )
    const isUsed = sourceIds.length + destinationIds.length + connectorIds.length + connections > 0
    if (isUsed && !query.cascade) {
      refuse(
        'CONFLICT',
        'Cannot delete project: it is not empty (cascade=true deletes what it holds)',
      )
    }
    if (isUsed) {
      for (const resource of ['sources', 'destinations', 'connections'] as const) {
        demand(principal, { resource, level: 'write', isExplicit: true })
      }
    }
    if (connectorIds.length > 0) {
      demand(principal, { resource: 'connectors', level: 'write', isExplicit: true })
    }
    const now = new Date(deps.clock.now())
    for (const id of connectorIds) await deleteConnector(tx, id, now)
    await deleteProject(tx, project.id)
    const shown = { name: project.name, cascade: query.cascade }
    await note(tx, call, PROJECT, { verb: 'delete', row: project, shown })
    const changes = [
      ...sourceIds.map((id) => ({ kind: 'source' as const, id })),
      ...destinationIds.map((id) => ({ kind: 'destination' as const, id })),
    ]
    return { changes, connectorIds }
  })
}
