import type { FastifyReply, FastifyRequest } from 'fastify'

import { permissionsOf, roleOf } from '../../core/accounts/role.ts'
import { refuse } from '../../core/errors.ts'
import { decodeId } from '../../core/ids.ts'
import type { Access } from '../auth/principal.ts'
import { rateHeaders } from '../auth/rate-limit.ts'
import type { Deps } from '../deps.ts'
import type { KeyedRoute } from '../http/route.ts'
import { refuseForeign } from './same-origin.ts'
import { demandFresh, demandSession, personAt } from './session.ts'

/**
 * Admits a person to a route, in the project that the path names, with the rights that their role has at this moment.
 * An API key counts for nothing here.
 */
export async function admitSession(
  deps: Deps,
  route: KeyedRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Access> {
  const { accounts, clock } = deps
  // Answers are a person's own: nothing between may keep them.
  void reply.header('cache-control', 'no-store')
  refuseForeign(accounts.apiUrl, request)
  const named = projectOf(request)
  const projectId = decodeId('prj', named)
  const { session, window } = await demandSession(deps, request, { projectId })
  void reply.headers(rateHeaders(window))
  const { organisationId, role: held, personId } = session
  if (projectId === undefined || organisationId === null || held === null) {
    refuse('NOT_FOUND', `Cannot find project "${named}"`)
  }
  if (route.isSecret === true) demandFresh(session, clock.now())
  const role = roleOf(held)
  return {
    principal: {
      organisationId,
      actor: personAt(personId, request),
      person: { role, sessionId: session.id },
      permissions: permissionsOf(role),
      isBound: false,
    },
    reach: { organisationId, projectId },
    project: () => projectId,
  }
}

function projectOf({ params }: FastifyRequest): string {
  const { projectId } = Object(params)
  return String(projectId)
}
