import { timestamp } from '../../core/clock.ts'
import type { Agent } from '../../core/db/accounts/agents.ts'
import { encodeId } from '../../core/ids.ts'
import { moment } from '../http/fields.ts'

/** An agent without its token, of which nothing but the hash is kept. */
export function viewAgent(agent: Agent): Record<string, unknown> {
  return {
    id: encodeId('agt', agent.id),
    organisationId: encodeId('org', agent.organisationId),
    memberId: encodeId('usr', agent.personId),
    memberEmail: agent.email,
    name: agent.name,
    tokenHint: agent.tokenHint,
    roleMax: agent.roleMax,
    projectId: agent.projectId === null ? null : encodeId('prj', agent.projectId),
    expiresAt: moment(agent.expiresAt),
    revokedAt: moment(agent.revokedAt),
    lastUsedAt: moment(agent.lastUsedAt),
    lastUsedFrom: agent.lastUsedFrom,
    createdAt: timestamp(agent.createdAt.getTime()),
  }
}
