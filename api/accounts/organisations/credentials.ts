import { lowerOf, roleOf, type Role } from '../../../core/accounts/role.ts'
import { handAgent, listAgents, revokeAgent } from '../../../core/db/accounts/agents.ts'
import { handApiKey, listApiKeys, revokeApiKey } from '../../../core/db/configuration/api-keys.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { encodeId } from '../../../core/ids.ts'
import { AGENTS_PER_MEMBER } from '../../../core/limits.ts'
import { resourcesAbove } from './key-rights.ts'

/** A member whose rights become fewer. */
interface Lowered {
  organisationId: string
  personId: string
  /** The role before. */
  role: Role
  /** The role from now on; undefined when the membership ends. */
  next: Role | undefined
}

interface Settlement {
  /** Ids as clients write them, of keys and agents that would end and shall not. */
  keep: ReadonlySet<string>
  /** The person who gets what is kept. */
  heirId: string | undefined
  actor: Actor
  now: Date
}

/** Ids of the working keys and agents of a member, as clients read them. */
export interface Settled {
  ended: string[]
  kept: string[]
}

type Key = Awaited<ReturnType<typeof listApiKeys>>[number]
type Agent = Awaited<ReturnType<typeof listAgents>>[number]
type Credential = { id: string } & ({ key: Key } | { agent: Agent })

/**
 * Ends the working keys and agents of a member that a new role does not allow, or all of them without one. Keys and agents
 * in `keep` go on as the heir's. To be called under the lock of the organisation.
 */
export async function settleCredentials(
  tx: Db,
  member: Lowered,
  settlement: Settlement,
): Promise<Settled> {
  const { keep, heirId, now } = settlement
  const works = await workingCredentials(tx, member.organisationId, now)
  const own = works.filter((one) => holderOf(one) === member.personId)
  refuseUnknown(keep, own)
  const ending = own.filter((one) => !isAllowed(one, member.next))
  const handed = ending.filter(({ id }) => keep.has(id))
  if (heirId !== undefined) {
    refuseCrowd([...works.filter((one) => holderOf(one) === heirId), ...handed])
    for (const one of handed) await handOver(tx, one, { heirId, role: member.role })
  }
  const ended = ending.filter(({ id }) => !keep.has(id))
  for (const one of ended) await end(tx, one, settlement)
  const kept = own.filter((one) => !ended.includes(one))
  return { ended: ended.map(({ id }) => id), kept: kept.map(({ id }) => id) }
}

async function workingCredentials(
  tx: Db,
  organisationId: string,
  now: Date,
): Promise<Credential[]> {
  const works = ({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>): boolean =>
    revokedAt === null && (expiresAt === null || expiresAt > now)
  const keys = await listApiKeys(tx, organisationId)
  const agents = await listAgents(tx, organisationId)
  return [
    ...keys.filter(works).map((key) => ({ id: encodeId('key', key.id), key })),
    ...agents.filter(works).map((agent) => ({ id: encodeId('agt', agent.id), agent })),
  ]
}

function holderOf(one: Credential): string | null {
  return 'key' in one ? one.key.createdBy : one.agent.personId
}

/** An agent follows the role of its member, so that each role allows it. */
function isAllowed(one: Credential, role: Role | undefined): boolean {
  if (role === undefined) return false
  return !('key' in one) || resourcesAbove(role, one.key.permissions).length === 0
}

function refuseUnknown(keep: ReadonlySet<string>, own: readonly Credential[]): void {
  const ids = new Set(own.map(({ id }) => id))
  const unknown = [...keep].find((id) => !ids.has(id))
  if (unknown === undefined) return
  refuseField(
    'query.keep',
    `Cannot find "${unknown}" among the working keys and agents of the member`,
  )
}

function refuseCrowd(credentials: readonly Credential[]): void {
  const count = credentials.filter((one) => 'agent' in one).length
  if (count <= AGENTS_PER_MEMBER) return
  refuse('CONFLICT', `Cannot keep these agents: you would have ${count} of ${AGENTS_PER_MEMBER}`)
}

async function handOver(
  tx: Db,
  one: Credential,
  { heirId, role }: { heirId: string; role: Role },
): Promise<void> {
  if ('key' in one) return await handApiKey(tx, one.key.id, heirId)
  const { id, roleMax } = one.agent
  const lower = roleMax === null ? role : lowerOf(role, roleOf(roleMax))
  await handAgent(tx, id, { personId: heirId, roleMax: lower })
}

async function end(tx: Db, one: Credential, { actor, now }: Settlement): Promise<void> {
  if ('key' in one) {
    const { id, organisationId, projectId, name, permissions } = one.key
    await revokeApiKey(tx, id, now)
    const subject = { subjectKind: 'api_key', subjectId: id, changes: { name, permissions } }
    const entry = { organisationId, projectId, actor, action: 'api_key.revoke', ...subject }
    return await writeAudit(tx, entry, now.getTime())
  }
  const { id, organisationId, name, email } = one.agent
  await revokeAgent(tx, id, now)
  const subject = { subjectKind: 'agent', subjectId: id, changes: { name, email } }
  const entry = { organisationId, projectId: null, actor, action: 'agent.revoke', ...subject }
  await writeAudit(tx, entry, now.getTime())
}
