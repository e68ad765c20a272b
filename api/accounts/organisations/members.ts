import { isAtLeast, roleOf, type Role } from '../../../core/accounts/role.ts'
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
import { refuse, refuseField } from '../../../core/errors.ts'
import { refuseMissing } from '../../http/failure.ts'
import { settleCredentials, type Settled } from './credentials.ts'
import type { Tenancy } from './organisations.ts'

/** A member of an organisation, and who changes them. */
export interface MemberChange {
  organisationId: string
  personId: string
  by: { personId: string; role: Role }
}

/**
 * Gives a member another role. Only an owner makes or unmakes owners, and an owner is always left. Keys of the member that
 * may do more than the new role end, except those in `keep`, which pass to the person who changes the role.
 */
export async function changeRole(
  { db, clock, actor }: Tenancy,
  change: MemberChange,
  { role, keep }: { role: Role; keep: ReadonlySet<string> },
): Promise<Settled & { member: Member }> {
  return await db.transaction().execute(async (tx) => {
    const found = await lockMember(tx, change)
    refuseOwnKeep(change, keep)
    if (role !== found.role) {
      if (role === 'owner') demandOwner(change)
      await refuseLastOwner(tx, change, found)
      await setRole(tx, { ...change, role })
    }
    const now = new Date(clock.now())
    const lowered = { ...change, role: roleOf(found.role), next: role }
    const heirId = change.by.personId
    const settled = await settleCredentials(tx, lowered, { actor, now, keep, heirId })
    if (role !== found.role) {
      const changes = { email: found.email, role, before: found.role, ...settled }
      await auditMember(tx, change, { actor, action: 'member.update', changes, now: now.getTime() })
    }
    return { member: { ...found, role }, ...settled }
  })
}

/**
 * Ends a membership, another's or one's own. From the next request on the person reaches nothing, and neither do their keys
 * and agents, for good, except those in `keep`, which pass to the person who removes them.
 */
export async function removeMember(
  { db, clock, actor }: Tenancy,
  change: MemberChange,
  keep: ReadonlySet<string>,
): Promise<Settled> {
  return await db.transaction().execute(async (tx) => {
    const found = await lockMember(tx, change)
    refuseOwnKeep(change, keep)
    await refuseLastOwner(tx, change, found)
    const ending = { actor, now: new Date(clock.now()), keep, heirId: change.by.personId }
    return await endMembership(tx, { ...change, ...found }, ending)
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
    await endMembership(tx, member, {
      actor,
      now,
      keep: new Set(),
      heirId: undefined,
    })
  }
  await deletePerson(tx, id)
}

async function endMembership(
  tx: Db,
  member: { organisationId: string; personId: string; email: string; role: string },
  ending: { actor: Actor; now: Date; keep: ReadonlySet<string>; heirId: string | undefined },
): Promise<Settled> {
  const { organisationId, personId, email, role } = member
  const { actor, now } = ending
  const lowered = { organisationId, personId, role: roleOf(role), next: undefined }
  const settled = await settleCredentials(tx, lowered, ending)
  await deleteMembership(tx, organisationId, personId)
  const changes = { email, role, ...settled }
  await auditMember(tx, member, { actor, action: 'member.remove', changes, now: now.getTime() })
  return settled
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

/**
 * Every change of members holds the lock of the organisation, so that the last owner is known, and so are the rights of the
 * person who changes them: these may have become fewer since the request came in.
 */
async function lockMember(tx: Db, change: MemberChange): Promise<Member> {
  const { organisationId, personId } = change
  await lockOrganisation(tx, organisationId)
  const found = (await findMember(tx, organisationId, personId)) ?? refuseMissing('usr', personId)
  const { by } = change
  const changer = await findMember(tx, organisationId, by.personId)
  if (changer === undefined || !isAtLeast(roleOf(changer.role), by.role)) {
    refuse('FORBIDDEN', 'Cannot do this any more: your own role was lowered meanwhile')
  }
  if (found.role === 'owner') demandOwner(change)
  return found
}

/** A person who leaves with a kept key would go on in the organisation by it. */
function refuseOwnKeep({ personId, by }: MemberChange, keep: ReadonlySet<string>): void {
  if (keep.size === 0 || personId !== by.personId) return
  refuseField('query.keep', 'Cannot keep keys and agents of your own: another member has to')
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
