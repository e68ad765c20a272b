import { z } from 'zod'

import { timestamp } from '../../../core/clock.ts'
import { findApiKey, listApiKeys, type ApiKey } from '../../../core/db/configuration/api-keys.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { grantsAnything, Permissions } from '../../../core/keys/permissions.ts'
import { refuseMissing } from '../../http/failure.ts'
import { IdInput, Moment, Name } from '../../http/fields.ts'
import { accountRoute, mayChange, type InOrganisation } from '../account-route.ts'
import { refuseAbove } from '../organisations/key-rights.ts'
import { createKey, endKey, rescopeKey, type Maker } from '../organisations/organisations.ts'
import { viewKey } from './key-shape.ts'

const inOrganisation = { params: { org: 'org' }, query: z.strictObject({}) } as const
const ofKey = { params: { org: 'org', key: 'key' }, query: z.strictObject({}) } as const

const KeyCreate = z.strictObject({
  name: Name,
  /** Null makes an unscoped key. */
  permissions: Permissions.nullable(),
  projectId: IdInput('prj').nullable().default(null),
  expiresAt: Moment.nullable().default(null),
})

/** API keys, which a person alone makes and ends. (spec: Authentication 4 to 8) */
export const KEY_ROUTES = [
  accountRoute({
    ...inOrganisation,
    method: 'GET',
    path: '/organisations/:org/keys',
    who: 'member',
    body: null,
    async handle(visit) {
      const keys = await listApiKeys(visit.deps.db, visit.organisationId)
      // Where a program runs is for those who answer for it.
      const data = keys.map((key) =>
        viewKey(mayChange(visit, key.createdBy) ? key : { ...key, lastUsedFrom: null }),
      )
      return { status: 200, body: { data } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'POST',
    path: '/organisations/:org/keys',
    who: 'member',
    isFresh: true,
    body: KeyCreate,
    async handle({ deps, session, actor, organisationId, body }) {
      const { name, permissions, projectId, expiresAt } = body
      refuseEmpty(permissions)
      const nowMs = deps.clock.now()
      if (expiresAt !== null && expiresAt <= nowMs) {
        refuseField('body.expiresAt', `Expected a moment after ${timestamp(nowMs)}`)
      }
      const { key, text } = await createKey(
        { ...deps, actor },
        {
          organisationId,
          projectId,
          name,
          permissions,
          expiresAt: expiresAt === null ? null : new Date(expiresAt),
          keyPrefix: deps.keyPrefix,
          maker: makerOf(session, permissions),
        },
      )
      return { status: 201, body: { ...viewKey(key), key: text } }
    },
  }),
  accountRoute({
    ...ofKey,
    method: 'PATCH',
    path: '/organisations/:org/keys/:key',
    who: 'member',
    isFresh: true,
    body: z.strictObject({ permissions: Permissions }),
    async handle(visit) {
      const { deps, actor, session, body } = visit
      const key = await demandKey(visit)
      const { permissions } = body
      refuseEmpty(permissions)
      const maker = makerOf(session, permissions)
      const rescoped = await rescopeKey({ ...deps, actor }, key.id, permissions, maker)
      return { status: 200, body: viewKey(rescoped) }
    },
  }),
  accountRoute({
    ...ofKey,
    method: 'DELETE',
    path: '/organisations/:org/keys/:key',
    who: 'member',
    body: null,
    async handle(visit) {
      const key = await demandKey(visit)
      await endKey({ ...visit.deps, actor: visit.actor }, key.id)
      return { status: 204 }
    },
  }),
]

function makerOf({ personId }: { personId: string }, permissions: Permissions | null): Maker {
  return { personId, demand: (role) => refuseAbove(role, permissions) }
}

/** The key that the path names. */
async function demandKey(visit: InOrganisation<{ org: string; key: string }>): Promise<ApiKey> {
  const { deps, organisationId, params } = visit
  const key = await findApiKey(deps.db, params.key)
  if (key === undefined || key.organisationId !== organisationId) refuseMissing('key', params.key)
  if (!mayChange(visit, key.createdBy)) {
    refuse(
      'FORBIDDEN',
      'Cannot change the keys of others as a member: it needs an owner or an admin',
    )
  }
  return key
}

function refuseEmpty(permissions: Permissions | null): void {
  if (permissions === null || grantsAnything(permissions)) return
  refuseField('body.permissions', 'Expected at least one resource with read or write')
}
