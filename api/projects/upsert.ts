import { z } from 'zod'

import { lockProjectByName } from '../../core/db/configuration/by-name.ts'
import type { Project as Row } from '../../core/db/configuration/projects.ts'
import { newId } from '../../core/ids.ts'
import { route, type Call } from '../http/route.ts'
import {
  refuseOtherName,
  upsertAnswer,
  upsertResource,
  UPSERT_RULES,
  type Upserted,
} from '../writes/upsert.ts'
import { PROJECT } from './resource.ts'
import { refuseBound } from './routes.ts'
import { Project, ProjectUpsert, viewProject } from './shape.ts'

export const PROJECT_UPSERT_ROUTES = [
  route({
    method: 'PUT',
    path: '/projects/by-name/:name',
    operationId: 'upsertProject',
    tag: 'Projects',
    summary: 'Create or change a project by its name',
    description: UPSERT_RULES,
    permission: { resource: 'projects', level: 'write' },
    scope: 'reach',
    params: { name: 'name' },
    query: z.strictObject({}),
    body: ProjectUpsert,
    responses: { 200: Project, 201: Project },
    errors: ['CONFLICT'],
    async handle(call) {
      return upsertAnswer(await upsertProject(call), viewProject)
    },
  }),
]

async function upsertProject(
  call: Call<{ name: string }, unknown, z.output<typeof ProjectUpsert>>,
): Promise<Upserted<Row>> {
  const { principal, params, body } = call
  refuseOtherName(params.name, body.name)
  const named = { organisationId: principal.organisationId, name: params.name }
  const metadata = body.metadata ?? {}
  return await upsertResource(call, PROJECT, {
    idOf: async (tx) => await lockProjectByName(tx, named),
    make(now) {
      refuseBound(principal)
      const id = newId(now.getTime())
      return { ...named, id, isDefault: false, metadata, createdAt: now, updatedAt: now }
    },
    declare: (before, now) => ({ ...before, metadata, updatedAt: now }),
    shown: { ...body, name: params.name },
  })
}
