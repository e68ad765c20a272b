import { findIdentity, insertIdentity } from '../../../core/db/accounts/identities.ts'
import { countMembers, insertMembership } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail, setVerified, type Person } from '../../../core/db/accounts/people.ts'
import { openInvitations, openInvitationsOf } from '../../../core/db/configuration/invitations.ts'
import {
  findOwnOrganisation,
  lockOrganisation,
} from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { Refusal } from '../../../core/errors.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import { NAME_LENGTH_MAX } from '../../../core/limits.ts'
import { entitlementsOf } from '../../../core/plans/plans.ts'
import type { Identified } from '../../sign-on/provider.ts'
import { Email } from '../organisations/invitations.ts'
import { abandonAccount, auditMember } from '../organisations/members.ts'
import { addPerson, type Entrance } from '../people/people.ts'
import { acceptOwn } from '../sign-in/accept.ts'
import { takeSignUp } from '../sign-in/sign-up-limit.ts'
import { signUp } from '../sign-in/sign-up.ts'
import { Unwelcome } from './problems.ts'

/**
 * The account of whoever the provider knows. An identity that came before is its account. Otherwise an address that the
 * provider has verified leads to the account that has it, or makes one for whoever is invited, is of an allowed domain, or
 * may sign up. Open invitations of the address are accepted. To be called in the transaction that begins the session.
 * `signedInId`: the account that the browser is signed in to. It proves the address of that account; any other account
 * whose address was never proved yields to a new one.
 */
export async function arrive(
  tx: Db,
  deps: Entrance,
  who: Identified,
  signedInId?: string,
): Promise<string> {
  const now = new Date(deps.clock.now())
  const email = verifiedEmail(who)
  const known = await findIdentity(tx, who.issuer, who.subject)
  if (known !== undefined) {
    if (email !== undefined) await acceptAll(tx, deps, { personId: known, email })
    return known
  }
  if (email === undefined) {
    throw new Unwelcome('unverified', 'The provider has not verified an email address')
  }
  const found = await accountOf(tx, email, { signedInId, now })
  const personId = found?.id ?? (await welcome(tx, deps, newcomer(email, who, now)))
  await insertIdentity(tx, { issuer: who.issuer, subject: who.subject, personId, now })
  if (found !== undefined) await acceptAll(tx, deps, { personId, email })
  return personId
}

/** The account of an address that the provider has proved, as far as its maker has proved to own the address. */
async function accountOf(
  tx: Db,
  email: string,
  { signedInId, now }: { signedInId: string | undefined; now: Date },
): Promise<Person | undefined> {
  const found = await findPersonByEmail(tx, email)
  if (found === undefined || found.emailVerifiedAt !== null) return found
  if (found.id === signedInId) {
    await setVerified(tx, found.id, now)
    return found
  }
  await abandonAccount(tx, found, now)
  return undefined
}

function verifiedEmail({ email, isVerified }: Identified): string | undefined {
  return isVerified ? Email.safeParse(email).data : undefined
}

function newcomer(email: string, { name }: Identified, now: Date): Person {
  const called = (name?.trim() || email).slice(0, NAME_LENGTH_MAX)
  return {
    id: newId(now.getTime()),
    email,
    name: called,
    passwordHash: null,
    emailVerifiedAt: now,
    createdAt: now,
  }
}

/** Makes an account for somebody who has a reason to come. */
async function welcome(tx: Db, deps: Entrance, person: Person): Promise<string> {
  const { accounts } = deps
  const isInvited = (await openInvitationsOf(tx, person.email, person.createdAt)).length > 0
  if (isInvited) {
    await addPerson(tx, person)
    const joined = await acceptAll(tx, deps, { personId: person.id, email: person.email })
    if (joined === 0) throw new Unwelcome('seats', 'The plan has no seat for whoever is invited')
    return person.id
  }
  if (accounts.allowedDomains.includes(person.email.split('@').at(-1) ?? '')) {
    await addPerson(tx, person)
    await joinOwn(tx, deps, person)
    return person.id
  }
  if (accounts.signUp === 'open') {
    await takeSignUp(tx, deps, deps.address)
    await signUp(tx, deps, { person, organisationName: person.name })
    return person.id
  }
  throw new Unwelcome('unknown', 'Nobody has invited the address that the provider names')
}

/** Accepts what the address was invited to, as far as there are seats. How many organisations were joined. */
async function acceptAll(
  tx: Db,
  deps: Entrance,
  joiner: { personId: string; email: string },
): Promise<number> {
  const now = new Date(deps.clock.now())
  let joined = 0
  for (const invitation of await openInvitationsOf(tx, joiner.email, now)) {
    try {
      await acceptOwn(tx, deps, invitation, joiner)
      joined++
    } catch (error) {
      // No seat, or a member already: the others are still theirs.
      if (!(error instanceof Refusal)) throw error
    }
  }
  return joined
}

/** A colleague of an allowed domain joins the organisation of the installation. */
async function joinOwn(tx: Db, deps: Entrance, { id: personId, email }: Person): Promise<void> {
  const { accounts, address, clock, plans } = deps
  const own = await findOwnOrganisation(tx)
  const organisation = own && (await lockOrganisation(tx, own.id))
  if (organisation === undefined) {
    throw new Unwelcome('unknown', 'There is no organisation to join yet')
  }
  const now = new Date(clock.now())
  const { seats } = entitlementsOf(plans, organisation.plan, organisation.overrides)
  const open = await openInvitations(tx, organisation.id, now)
  if (seats !== null && (await countMembers(tx, organisation.id)) + open.length >= seats) {
    throw new Unwelcome('seats', 'The plan has no seat for a newcomer of an allowed domain')
  }
  const place = { organisationId: organisation.id, personId }
  const role = accounts.defaultRole
  await insertMembership(tx, { ...place, role, now })
  const actor = { name: `user:${encodeId('usr', personId)}`, address }
  const changes = { email, role }
  await auditMember(tx, place, { actor, action: 'member.join', changes, now: now.getTime() })
}
