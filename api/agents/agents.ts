import { timestamp, type Clock } from '../../core/clock.ts'
import {
  findAgent,
  insertAgent,
  listAgents,
  revokeAgent,
  type Agent,
} from '../../core/db/accounts/agents.ts'
import { findMember } from '../../core/db/accounts/memberships.ts'
import { lockOrganisation } from '../../core/db/configuration/organisations.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../core/db/requests/audit.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { makeSecret } from '../../core/keys/secret-text.ts'
import { AGENTS_PER_MEMBER } from '../../core/limits.ts'
import { refuseMissing } from '../http/failure.ts'

/** Who makes or ends an agent: a person at the dashboard, or the command line. */
interface Hand {
  db: Db
  clock: Clock
  /** Recorded in the audit. */
  actor: Actor
}

/** An agent to make for a member. */
interface AgentWish {
  organisationId: string
  personId: string
  name: string
  expiresAt: Date | null
  keyPrefix: string
}

/** The agent's record and, this once, its token. */
export async function createAgent(
  { db, clock, actor }: Hand,
  { keyPrefix, ...wish }: AgentWish,
): Promise<{ agent: Agent; token: string }> {
  const now = new Date(clock.now())
  if (wish.expiresAt !== null && wish.expiresAt <= now) {
    refuseField('body.expiresAt', `Expected a moment after ${timestamp(now.getTime())}`)
  }
  const { text, hash, hint } = makeSecret(keyPrefix, 'ag')
  const made = { ...wish, id: newId(now.getTime()), tokenHint: hint, createdAt: now }
  const email = await db.transaction().execute(async (tx) => {
    // A membership that ends at the same time ends this agent as well.
    await lockOrganisation(tx, wish.organisationId)
    const member = await findMember(tx, wish.organisationId, wish.personId)
    if (member === undefined) refuseMissing('usr', wish.personId)
    await refuseCrowd(tx, wish, now)
    await insertAgent(tx, { ...made, tokenHash: hash })
    await auditAgent(tx, { ...made, email: member.email }, { actor, verb: 'create', now })
    return member.email
  })
  const rest = {
    email,
    roleMax: null,
    projectId: null,
    revokedAt: null,
    lastUsedAt: null,
    lastUsedFrom: null,
  }
  return { agent: { ...made, ...rest }, token: text }
}

/** For good; an agent that is revoked already stays as it is. */
export async function endAgent({ db, clock, actor }: Hand, id: string): Promise<Agent> {
  const now = new Date(clock.now())
  return await db.transaction().execute(async (tx) => {
    const found = (await findAgent(tx, id)) ?? refuseMissing('agt', id)
    if (found.revokedAt !== null) return found
    await revokeAgent(tx, id, now)
    await auditAgent(tx, found, { actor, verb: 'revoke', now })
    return { ...found, revokedAt: now }
  })
}

async function refuseCrowd(
  tx: Db,
  { organisationId, personId }: Pick<AgentWish, 'organisationId' | 'personId'>,
  now: Date,
): Promise<void> {
  const own = (await listAgents(tx, organisationId)).filter(
    (agent) =>
      agent.personId === personId &&
      agent.revokedAt === null &&
      (agent.expiresAt === null || agent.expiresAt > now),
  )
  if (own.length < AGENTS_PER_MEMBER) return
  refuse('CONFLICT', `Cannot make another agent: the member has ${own.length}, revoke one first`)
}

async function auditAgent(
  tx: Db,
  { id, organisationId, name, email }: Pick<Agent, 'id' | 'organisationId' | 'name' | 'email'>,
  { actor, verb, now }: { actor: Actor; verb: 'create' | 'revoke'; now: Date },
): Promise<void> {
  const action = `agent.${verb}`
  const subject = { subjectKind: 'agent', subjectId: id, changes: { name, email } }
  await writeAudit(
    tx,
    { organisationId, projectId: null, actor, action, ...subject },
    now.getTime(),
  )
}
