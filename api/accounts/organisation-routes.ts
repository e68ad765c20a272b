import { z } from 'zod'

import { listProjectsOf } from '../../core/db/configuration/projects.ts'
import { encodeId } from '../../core/ids.ts'
import { accountRoute } from './account-route.ts'

const inOrganisation = { params: { org: 'org' }, query: z.strictObject({}) } as const

export const ORGANISATION_ROUTES = [
  accountRoute({
    ...inOrganisation,
    method: 'GET',
    path: '/organisations/:org/projects',
    who: 'member',
    body: null,
    async handle({ deps, organisationId }) {
      const projects = await listProjectsOf(deps.db, organisationId)
      const data = projects.map(({ id, name, isDefault }) => ({
        id: encodeId('prj', id),
        name,
        isDefault,
      }))
      return { status: 200, body: { data } }
    },
  }),
]
