import { z } from 'zod'

import { timestamp } from '../../../core/clock.ts'
import { findOrganisation } from '../../../core/db/configuration/organisations.ts'
import { listProjectsOf } from '../../../core/db/configuration/projects.ts'
import { listAudit } from '../../../core/db/requests/audit.ts'
import { refuse } from '../../../core/errors.ts'
import { encodeId } from '../../../core/ids.ts'
import { PLAN_NAMES } from '../../../core/plans/plans.ts'
import { changeBilling } from '../../billing/change.ts'
import { readCursor, writeCursor } from '../../http/cursor.ts'
import { Cursor, Limit, Name } from '../../http/fields.ts'
import { accountRoute } from '../account-route.ts'
import { viewAudit } from './audit-shape.ts'
import { renameOrganisation } from './organisations.ts'

const inOrganisation = { params: { org: 'org' }, query: z.strictObject({}) } as const

/** An organisation as its members see it. */
export const ORGANISATION_ROUTES = [
  accountRoute({
    params: {},
    query: z.strictObject({}),
    method: 'GET',
    path: '/projects',
    who: 'session',
    body: null,
    async handle({ deps, session }) {
      const projects = await listProjectsOf(deps.db, session.personId)
      const data = projects.map(({ id, organisationId, name, isDefault, createdAt }) => ({
        id: encodeId('prj', id),
        organisationId: encodeId('org', organisationId),
        name,
        isDefault,
        createdAt: timestamp(createdAt.getTime()),
      }))
      return { status: 200, body: { data } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'PATCH',
    path: '/organisations/:org',
    who: 'admin',
    body: z.strictObject({ name: Name }),
    async handle({ deps, actor, organisationId, role, body: { name } }) {
      await renameOrganisation({ ...deps, actor }, organisationId, name)
      return { status: 200, body: { id: encodeId('org', organisationId), name, role } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'POST',
    path: '/organisations/:org/checkout',
    who: 'admin',
    body: z.strictObject({ plan: z.enum(PLAN_NAMES) }),
    async handle({ deps, actor, organisationId, body: { plan } }) {
      const organisation = await findOrganisation(deps.db, organisationId)
      if (Object.keys(organisation?.overrides ?? {}).length > 0) {
        refuse(
          'NEGOTIATED_PLAN_OVERRIDE',
          'Cannot check out: the plan of the organisation was negotiated',
        )
      }
      const principal = { organisationId, actor }
      const wish = { kind: 'change_plan', plan, when: undefined } as const
      const standing = await changeBilling(deps, principal, wish)
      return { status: 200, body: { plan: standing.plan } }
    },
  }),
  accountRoute({
    params: { org: 'org' },
    query: z.strictObject({ limit: Limit, cursor: Cursor }),
    method: 'GET',
    path: '/organisations/:org/audit',
    who: 'admin',
    body: null,
    async handle({ deps, organisationId, query: { limit, cursor } }) {
      const binding = { kind: 'audit', organisationId }
      const before = readCursor(binding, cursor)?.id
      const rows = await listAudit(deps.db, organisationId, { limit: limit + 1, before })
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      const nextCursor =
        last === undefined ? null : writeCursor(binding, { value: '', id: last.id })
      return { status: 200, body: { data: shown.map(viewAudit), nextCursor } }
    },
  }),
]
