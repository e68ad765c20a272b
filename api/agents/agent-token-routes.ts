import { z } from 'zod'

import { findAgent, listAgents } from '../../core/db/accounts/agents.ts'
import { refuse } from '../../core/errors.ts'
import { accountRoute, mayChange } from '../accounts/account-route.ts'
import { refuseMissing } from '../http/failure.ts'
import { Moment, Name } from '../http/fields.ts'
import { viewAgent } from './agent-shape.ts'
import { createAgent, endAgent } from './agents.ts'

const inOrganisation = { params: { org: 'org' }, query: z.strictObject({}) } as const

/** The tokens of agents, which a person alone makes and ends, each for themselves. (spec: Authentication 9) */
export const AGENT_TOKEN_ROUTES = [
  accountRoute({
    ...inOrganisation,
    method: 'GET',
    path: '/organisations/:org/agents',
    who: 'member',
    body: null,
    async handle(visit) {
      const agents = await listAgents(visit.deps.db, visit.organisationId)
      // Where a program runs is for those who answer for it.
      const data = agents.map((agent) =>
        viewAgent(mayChange(visit, agent.personId) ? agent : { ...agent, lastUsedFrom: null }),
      )
      return { status: 200, body: { data } }
    },
  }),
  accountRoute({
    ...inOrganisation,
    method: 'POST',
    path: '/organisations/:org/agents',
    who: 'member',
    isFresh: true,
    body: z.strictObject({ name: Name, expiresAt: Moment.nullable().default(null) }),
    async handle({ deps, session, actor, organisationId, body }) {
      const { agent, token } = await createAgent(
        { ...deps, actor },
        {
          organisationId,
          personId: session.personId,
          name: body.name,
          expiresAt: body.expiresAt === null ? null : new Date(body.expiresAt),
          keyPrefix: deps.keyPrefix,
        },
      )
      return { status: 201, body: { ...viewAgent(agent), token } }
    },
  }),
  accountRoute({
    params: { org: 'org', agent: 'agt' },
    query: z.strictObject({}),
    method: 'DELETE',
    path: '/organisations/:org/agents/:agent',
    who: 'member',
    body: null,
    async handle(visit) {
      const { deps, actor, organisationId, params } = visit
      const found = await findAgent(deps.db, params.agent)
      if (found === undefined || found.organisationId !== organisationId) {
        refuseMissing('agt', params.agent)
      }
      if (!mayChange(visit, found.personId)) {
        refuse(
          'FORBIDDEN',
          'Cannot revoke the agents of others as a member: it needs an owner or an admin',
        )
      }
      await endAgent({ ...deps, actor }, found.id)
      return { status: 204 }
    },
  }),
]
