import { isAtLeast, type Role } from '../../../core/accounts/role.ts'
import {
  countOwners,
  deleteMembership,
  findMember,
  listMemberships,
  setRole,
  type Member,
} from '../../../core/db/accounts/memberships.ts'
import { deletePerson, type Person } from '../../../core/db/accounts/people.ts'
import { lockOrganisation } from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'
import { refuse } from '../../../core/errors.ts'
import { refuseMissing } from '../../http/failure.ts'
import { endCredentials } from './credentials.ts'
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
 * the keys and agents that they made, for good: a new membership begins without any.
 */
export async function removeMember(
  { db, clock, actor }: Tenancy,
  change: MemberChange,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const found = await lockMember(tx, change)
    await refuseLastOwner(tx, change, found)
    await endMembership(tx, { ...change, ...found }, { actor, now: new Date(clock.now()) })
  })
}

/**
 * Deletes an account whose address was never proved, so that the owner of the address can have one. It leaves its
 * organisations, of which one may be without an owner then, and its keys and agents end. To be called in the transaction
 * that makes the new account.
 */
export async function abandonAccount(tx: Db, { id, email }: Person, now: Date): Promise<void> {
  const actor = { name: 'postern', address: null }
  for (const { organisationId, role } of await listMemberships(tx, id)) {
    await lockOrganisation(tx, organisationId)
    const member = { organisationId, personId: id, email, role }
    await endMembership(tx, member, { actor, now })
  }
  await deletePerson(tx, id)
}

async function endMembership(
  tx: Db,
  member: { organisationId: string; personId: string; email: string; role: string },
  { actor, now }: { actor: Actor; now: Date },
): Promise<void> {
  const { organisationId, personId, email, role } = member
  await endCredentials(tx, member, { actor, now })
  await deleteMembership(tx, organisationId, personId)
  const entry = { actor, action: 'member.remove', changes: { email, role }, now: now.getTime() }
  await auditMember(tx, member, entry)
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
