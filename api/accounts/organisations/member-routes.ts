import { z } from 'zod'

import { isAtLeast } from '../../../core/accounts/role.ts'
import { timestamp } from '../../../core/clock.ts'
import {
  listMembers,
  type ListedMember,
  type Member,
} from '../../../core/db/accounts/memberships.ts'
import { listInvitations } from '../../../core/db/configuration/invitations.ts'
import { refuse } from '../../../core/errors.ts'
import { encodeId } from '../../../core/ids.ts'
import { moment } from '../../http/fields.ts'
import { accountRoute } from '../account-route.ts'
import { linkUrl } from '../people/links.ts'
import { viewInvitation } from './invitation-shape.ts'
import { Email, endInvitation, invite, mailInvitation, Role } from './invitations.ts'
import { changeRole, removeMember } from './members.ts'

const inOrganisation = { params: { org: 'org' }, query: z.strictObject({}) } as const

/** Ids of keys and agents in one text, with commas between them. */
const Keep = z
  .string()
  .regex(/^(?:key|agt)_\w{26}(?:,(?:key|agt)_\w{26})*$/, 'Expected ids of keys and agents')
  .optional()
  .transform((text) => new Set(text?.split(',')))

const ofMember = {
  params: { org: 'org', user: 'usr' },
  query: z.strictObject({ keep: Keep }),
} as const
const ofInvitation = { params: { org: 'org', id: 'inv' }, query: z.strictObject({}) } as const

/** Who belongs to an organisation, and who is asked to. */
export const MEMBER_ROUTES = [
  accountRoute({
    ...inOrganisation,
    method: 'GET',
    path: '/organisations/:org/members',
    who: 'member',
    body: null,
    async handle({ deps, organisationId }) {
      const members = await listMembers(deps.db, organisationId)
      return { status: 200, body: { data: members.map(viewListed) } }
    },
  }),
  accountRoute({
    ...ofMember,
    method: 'PATCH',
    path: '/organisations/:org/members/:user',
    who: 'admin',
    isFresh: true,
    body: z.strictObject({ role: Role }),
    async handle({ deps, session, actor, organisationId, role, params, query, body }) {
      const by = { personId: session.personId, role }
      const change = { organisationId, personId: params.user, by }
      const wish = { ...body, ...query }
      const { member, ...settled } = await changeRole({ ...deps, actor }, change, wish)
      return { status: 200, body: { ...viewMember(member), ...settled } }
    },
  }),
  accountRoute({
    ...ofMember,
    method: 'DELETE',
    path: '/organisations/:org/members/:user',
    who: 'member',
    isFresh: true,
    body: null,
    async handle({ deps, session, actor, organisationId, role, params, query }) {
      const by = { personId: session.personId, role }
      if (params.user !== by.personId && !isAtLeast(role, 'admin')) {
        refuse('FORBIDDEN', 'Cannot remove others as a member: it needs an owner or an admin')
      }
      const change = { organisationId, personId: params.user, by }
      const settled = await removeMember({ ...deps, actor }, change, query.keep)
      return { status: 200, body: { ...settled } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'GET',
    path: '/organisations/:org/invitations',
    who: 'admin',
    body: null,
    async handle({ deps, organisationId }) {
      const invitations = await listInvitations(deps.db, organisationId)
      return { status: 200, body: { data: invitations.map(viewInvitation) } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'POST',
    path: '/organisations/:org/invitations',
    who: 'admin',
    body: z.strictObject({ email: Email, role: Role.default('member') }),
    async handle({ deps, session, actor, origin, organisationId, role, body }) {
      if (!isAtLeast(role, body.role)) {
        refuse('FORBIDDEN', `Cannot invite an ${body.role} as an ${role}: it needs an owner`)
      }
      const made = await invite({ ...deps, actor }, { organisationId, ...body })
      const isMailed = session.isVerified && (await mailInvitation(deps, made, session.name))
      const url = linkUrl(origin, 'invite', made.token)
      return { status: 201, body: { ...viewInvitation(made.invitation), url, isMailed } }
    },
  }),
  accountRoute({
    ...ofInvitation,
    method: 'DELETE',
    path: '/organisations/:org/invitations/:id',
    who: 'admin',
    body: null,
    async handle({ deps, actor, organisationId, params }) {
      await endInvitation({ ...deps, actor }, params.id, organisationId)
      return { status: 204 }
    },
  }),
]

function viewListed(member: ListedMember): Record<string, unknown> {
  return { ...viewMember(member), lastSeenAt: moment(member.lastSeenAt) }
}

function viewMember({ personId, email, name, role, createdAt }: Member): Record<string, unknown> {
  const id = encodeId('usr', personId)
  return { id, email, name, role, createdAt: timestamp(createdAt.getTime()) }
}
