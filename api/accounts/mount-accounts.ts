import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { isAtLeast, roleOf, type Role } from '../../core/accounts/role.ts'
import type { SessionUse } from '../../core/db/accounts/sessions.ts'
import type { Actor } from '../../core/db/requests/audit.ts'
import { refuse } from '../../core/errors.ts'
import { decodeId } from '../../core/ids.ts'
import { PUBLIC_BODY_BYTES_MAX } from '../../core/limits.ts'
import type { Deps } from '../deps.ts'
import { readInput } from '../http/call.ts'
import { refuseMoving } from '../http/failure.ts'
import { rawInput } from '../http/mount.ts'
import type { Answer } from '../http/route.ts'
import { publicOrigin, refuseForeign } from '../sessions/same-origin.ts'
import { demandFresh, demandSession, personAt } from '../sessions/session.ts'
import { AccountLimits } from './account-limits.ts'
import type { AccountRoute } from './account-route.ts'
import { ACCOUNT_ROUTES } from './account-routes.ts'

/** Known of a person before the body of their request is read. */
interface Admitted {
  session: SessionUse
  actor: Actor
  organisationId: string
  role: Role
}

/** The endpoints of `/auth`, for people at the dashboard. (decisions: Accounts, dashboard, agents) */
export function mountAccounts(app: FastifyInstance, deps: Deps): void {
  const limits = new AccountLimits(deps)
  for (const route of ACCOUNT_ROUTES) mountRoute(app, deps, limits, route)
}

function mountRoute(
  app: FastifyInstance,
  deps: Deps,
  limits: AccountLimits,
  route: AccountRoute,
): void {
  const { onRefusal } = route
  const admissions = new WeakMap<FastifyRequest, Partial<Admitted>>()
  app.route({
    method: route.method,
    url: `/auth${route.path}`,
    bodyLimit: PUBLIC_BODY_BYTES_MAX,
    onRequest: async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      await limits.take(route.isSignIn === true ? 'sign-in' : 'other', request.clientAddress)
      refuseForeign(deps.accounts.apiUrl, request)
      if (route.isOfPasswords === true) demandPasswords(deps)
      admissions.set(request, await admitPerson(deps, route, request))
    },
    handler: async (request, reply) => {
      const admitted = admissions.get(request) ?? {}
      return await send(reply, await run(deps, route, request, admitted))
    },
    ...(onRefusal === undefined
      ? {}
      : {
          errorHandler: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
            void send(reply, onRefusal(deps, error))
          },
        }),
  })
}

async function send(reply: FastifyReply, { status, headers, body }: Answer): Promise<unknown> {
  return await reply
    .code(status)
    .headers(headers ?? {})
    .send(body)
}

function demandPasswords({ accounts, provider }: Deps): void {
  if (accounts.hasPasswords) return
  const name = provider?.name ?? 'the provider'
  refuse('FORBIDDEN', `Passwords are switched off here: sign in with ${name}`)
}

async function run(
  deps: Deps,
  route: AccountRoute,
  request: FastifyRequest,
  admitted: Partial<Admitted>,
): Promise<Answer> {
  const origin = publicOrigin(deps.accounts.apiUrl, request)
  const visit = { deps, request, origin, ...readInput(route, rawInput(request)) }
  if (route.who === 'anybody') return await route.handle(visit)
  const { session, actor, organisationId, role } = admitted
  if (session === undefined || actor === undefined) throw new Error('Nobody was admitted')
  if (route.who === 'session') return await route.handle({ ...visit, session, actor })
  if (organisationId === undefined || role === undefined) throw new Error('No member was admitted')
  if (route.method !== 'GET') await refuseMoving(deps.db, organisationId)
  return await route.handle({ ...visit, session, actor, organisationId, role })
}

async function admitPerson(
  deps: Deps,
  route: AccountRoute,
  request: FastifyRequest,
): Promise<Partial<Admitted>> {
  if (route.who === 'anybody') return {}
  const { org: named } = Object(request.params)
  const organisationId = typeof named === 'string' ? decodeId('org', named) : undefined
  const { session } = await demandSession(deps, request, { organisationId })
  const actor = personAt(session.personId, request)
  if (route.who === 'session') {
    if (route.isFresh === true) demandFresh(session, deps.clock.now())
    return { session, actor }
  }
  if (organisationId === undefined || session.role === null) {
    refuse('NOT_FOUND', `Cannot find organisation "${String(named)}"`)
  }
  const role = roleOf(session.role)
  if (!isAtLeast(role, route.who)) {
    refuse('FORBIDDEN', `Cannot do this as a ${role}: it needs ${NEEDED[route.who]}`)
  }
  if (route.isFresh === true) demandFresh(session, deps.clock.now())
  return { session, actor, organisationId, role }
}

const NEEDED: Readonly<Record<Role, string>> = {
  owner: 'an owner',
  admin: 'an owner or an admin',
  member: 'a member',
}
