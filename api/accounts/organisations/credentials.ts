import { listAgents, revokeAgent } from '../../../core/db/accounts/agents.ts'
import { listApiKeys, revokeApiKey } from '../../../core/db/configuration/api-keys.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'

interface Ending {
  actor: Actor
  now: Date
}

/** Ends the keys and agents that a person made in an organisation which they leave. */
export async function endCredentials(
  tx: Db,
  { organisationId, personId }: { organisationId: string; personId: string },
  ending: Ending,
): Promise<void> {
  const { now } = ending
  const works = ({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>): boolean =>
    revokedAt === null && (expiresAt === null || expiresAt > now)
  for (const key of await listApiKeys(tx, organisationId)) {
    if (key.createdBy === personId && works(key)) await endKeyOf(tx, key, ending)
  }
  for (const agent of await listAgents(tx, organisationId)) {
    if (agent.personId === personId && works(agent)) await endAgentOf(tx, agent, ending)
  }
}

type Key = Awaited<ReturnType<typeof listApiKeys>>[number]
type Agent = Awaited<ReturnType<typeof listAgents>>[number]

async function endKeyOf(tx: Db, key: Key, { actor, now }: Ending): Promise<void> {
  const { organisationId, projectId, name, permissions } = key
  await revokeApiKey(tx, key.id, now)
  const subject = { subjectKind: 'api_key', subjectId: key.id, changes: { name, permissions } }
  const entry = { organisationId, projectId, actor, action: 'api_key.revoke', ...subject }
  await writeAudit(tx, entry, now.getTime())
}

async function endAgentOf(tx: Db, agent: Agent, { actor, now }: Ending): Promise<void> {
  const { id, organisationId, name, email } = agent
  await revokeAgent(tx, id, now)
  const subject = { subjectKind: 'agent', subjectId: id, changes: { name, email } }
  const entry = { organisationId, projectId: null, actor, action: 'agent.revoke', ...subject }
  await writeAudit(tx, entry, now.getTime())
}
