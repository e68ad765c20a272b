import type { FastifyRequest } from 'fastify'

import { insertMembership } from '../../../core/db/accounts/memberships.ts'
import { countMembers, findMember } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail, type Person } from '../../../core/db/accounts/people.ts'
import {
  findOpenInvitation,
  noteAccepted,
  openInvitations,
  type Invitation,
} from '../../../core/db/configuration/invitations.ts'
import {
  findOwnOrganisation,
  lockOrganisation,
  type Organisation,
} from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { encodeId } from '../../../core/ids.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { entitlementsOf } from '../../../core/plans/plans.ts'
import { callerNetwork } from '../../auth/client-address.ts'
import type { Deps } from '../../deps.ts'
import { auditMember } from '../organisations/members.ts'
import { refuseLink } from '../people/links.ts'
import { addPerson, newPerson, NewPassword, type Entrance } from '../people/people.ts'
import { provePassword, type Proved } from '../people/prove-password.ts'

/** Whoever accepts, by their own account or by that of their session. */
export interface Acceptance {
  token: string
  email: string
  name: string | undefined
  password: string
}

/** Somebody who is to be a member, and the account that has to be made for it, if any. */
interface Joiner extends Proved {
  made: Person | undefined
}

/** The account of whoever holds an invitation: the one that they have, by its password, or a new one. */
export async function joinerOf(
  deps: Deps,
  request: FastifyRequest,
  acceptance: Acceptance,
): Promise<Joiner> {
  const { token, email, name, password } = acceptance
  const invitation = await findOpenInvitation(
    deps.db,
    hashSecret(token),
    new Date(deps.clock.now()),
  )
  if (invitation === undefined) refuseLink()
  refuseOther(invitation, email)
  if ((await findPersonByEmail(deps.db, email)) !== undefined) {
    return { ...(await provePassword(deps, request, { email, password })), made: undefined }
  }
  if (name === undefined) refuseField('body.name', 'Expected the name of a new account')
  const { error } = NewPassword.safeParse(password)
  if (error !== undefined) refuseField('body.password', error.issues[0]?.message ?? 'Is too short')
  const isVerified = await isVouched(deps, invitation)
  const asked = { nowMs: deps.clock.now(), by: callerNetwork(request) }
  const made = await newPerson({ email, name, password, isVerified }, asked)
  return { personId: made.id, email, name, isVerified, passwordHash: made.passwordHash, made }
}

/**
 * Whether an invitation says that its address belongs to whoever accepts it. Where anybody may make an organisation, only
 * those of the installation's own do: a stranger could invite an address that is not theirs, and accept it.
 */
async function isVouched({ db, accounts }: Deps, invitation: Invitation): Promise<boolean> {
  if (accounts.signUp !== 'open') return true
  return (await findOwnOrganisation(db))?.id === invitation.organisationId
}

/** Makes somebody a member as the invitation of a token says, which is used up. To be called in a transaction. */
export async function acceptInvitation(
  tx: Db,
  deps: Entrance,
  token: string,
  joiner: Joiner,
): Promise<void> {
  const now = new Date(deps.clock.now())
  const find = async () => await findOpenInvitation(tx, hashSecret(token), now)
  const { organisationId } = (await find()) ?? refuseLink()
  const organisation = (await lockOrganisation(tx, organisationId)) ?? refuseLink()
  // Others may have used it until the lock was ours.
  const invitation = (await find()) ?? refuseLink()
  refuseOther(invitation, joiner.email)
  await join(tx, deps, { organisation, invitation, joiner })
}

/** The same of an invitation that is open, for whoever has proved that its address is theirs. */
export async function acceptOwn(
  tx: Db,
  deps: Entrance,
  { id, organisationId }: Invitation,
  joiner: Pick<Joiner, 'personId' | 'email'>,
): Promise<void> {
  const organisation = (await lockOrganisation(tx, organisationId)) ?? refuseLink()
  const open = await openInvitations(tx, organisationId, new Date(deps.clock.now()))
  const invitation = open.find((one) => one.id === id) ?? refuseLink()
  await join(tx, deps, { organisation, invitation, joiner: { ...joiner, made: undefined } })
}

async function join(
  tx: Db,
  { address, clock, plans }: Entrance,
  {
    organisation,
    invitation,
    joiner: { personId, email, made },
  }: {
    organisation: Organisation
    invitation: Invitation
    joiner: Pick<Joiner, 'personId' | 'email' | 'made'>
  },
): Promise<void> {
  const now = new Date(clock.now())
  const organisationId = organisation.id
  const { seats } = entitlementsOf(plans, organisation.plan, organisation.overrides)
  if (seats !== null && (await countMembers(tx, organisationId)) >= seats) {
    const message = `Cannot join: the plan has ${seats} seats and all are taken`
    refuse('INVITATION_LIMIT_REACHED', message)
  }
  if (made !== undefined) await addPerson(tx, made)
  if ((await findMember(tx, organisationId, personId)) !== undefined) {
    refuse('CONFLICT', `"${email}" is a member already`)
  }
  const { role } = invitation
  await insertMembership(tx, { organisationId, personId, role, now })
  await noteAccepted(tx, invitation.id, now)
  await auditMember(
    tx,
    { organisationId, personId },
    {
      actor: { name: `user:${encodeId('usr', personId)}`, address },
      action: 'member.join',
      changes: { email, role },
      now: now.getTime(),
    },
  )
}

function refuseOther(invitation: Invitation, email: string): void {
  if (invitation.email === email) return
  refuse('FORBIDDEN', 'This invitation is for another address')
}
