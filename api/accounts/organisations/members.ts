import { isAtLeast, type Role } from '../../../core/accounts/role.ts'
import { revokeAgentsOf } from '../../../core/db/accounts/agents.ts'
import {
  countOwners,
  deleteMembership,
  findMember,
  listMemberships,
  setRole,
  type Member,
} from '../../../core/db/accounts/memberships.ts'
import { lockOrganisation } from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'
import { refuse } from '../../../core/errors.ts'
import { refuseMissing } from '../../http/failure.ts'
import type { Tenancy } from './organisations.ts'

/** A member of an organisation, and who changes them. */
export interface MemberChange {
  organisationId: string
  personId: string
  by: { personId: string; role: Role }
}

/** Gives a member another role. Only an owner makes or unmakes owners, and an owner is always left. */
export async function changeRole(
  { db, clock, actor }: Tenancy,
  change: MemberChange,
  role: Role,
): Promise<Member> {
  return await db.transaction().execute(async (tx) => {
    const found = await lockMember(tx, change)
    if (role === found.role) return found
    if (role === 'owner') demandOwner(change)
    await refuseLastOwner(tx, change, found)
    await setRole(tx, { ...change, role })
    const changes = { email: found.email, role, before: found.role }
    await auditMember(tx, change, { actor, action: 'member.update', changes, now: clock.now() })
    return { ...found, role }
  })
}

/**
 * Ends a membership, another's or one's own. Whoever was removed reaches nothing from the next request on, and neither do
 * their agents, for good: a new membership begins without any.
 */
export async function removeMember(
  { db, clock, actor }: Tenancy,
  change: MemberChange,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const found = await lockMember(tx, change)
    await refuseLastOwner(tx, change, found)
    await deleteMembership(tx, change.organisationId, change.personId)
    const changes = { email: found.email, role: found.role }
    const now = clock.now()
    await auditMember(tx, change, { actor, action: 'member.remove', changes, now })
    const { organisationId } = change
    for (const { id, name } of await revokeAgentsOf(tx, change, new Date(now))) {
      const subject = { subjectKind: 'agent', subjectId: id, changes: { name, email: found.email } }
      const entry = { organisationId, projectId: null, actor, action: 'agent.revoke', ...subject }
      await writeAudit(tx, entry, now)
    }
  })
}

/** Writes the audit row of a change of a member, in its transaction. */
export async function auditMember(
  tx: Db,
  { organisationId, personId }: { organisationId: string; personId: string },
  entry: { actor: Actor; action: string; changes: Record<string, unknown>; now: number },
): Promise<void> {
  const { actor, action, changes, now } = entry
  const subject = { subjectKind: 'user', subjectId: personId }
  await writeAudit(tx, { organisationId, projectId: null, actor, action, ...subject, changes }, now)
}

/** Notes in each organisation of a person what became of their account. */
export async function auditPerson(
  tx: Db,
  { personId, email }: { personId: string; email: string },
  entry: { actor: Actor; action: string; now: number },
): Promise<void> {
  for (const { organisationId } of await listMemberships(tx, personId)) {
    await auditMember(tx, { organisationId, personId }, { ...entry, changes: { email } })
  }
}

/** Every change of members holds the lock of the organisation, so that the last owner is known. */
async function lockMember(tx: Db, change: MemberChange): Promise<Member> {
  const { organisationId, personId } = change
  await lockOrganisation(tx, organisationId)
  const found = (await findMember(tx, organisationId, personId)) ?? refuseMissing('usr', personId)
  if (found.role === 'owner') demandOwner(change)
  return found
}

function demandOwner({ by }: MemberChange): void {
  if (isAtLeast(by.role, 'owner')) return
  refuse('FORBIDDEN', `Cannot do this as a ${by.role}: only an owner makes or changes owners`)
}

async function refuseLastOwner(
  tx: Db,
  { organisationId }: MemberChange,
  { role, email }: Member,
): Promise<void> {
  if (role !== 'owner' || (await countOwners(tx, organisationId)) > 1) return
  refuse('CONFLICT', `Cannot do this: "${email}" is the only owner, make another one first`)
}
