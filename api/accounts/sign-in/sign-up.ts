import { deleteLinksTo, findLink, takeLink } from '../../../core/db/accounts/links.ts'
import { insertMembership } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail, type Person } from '../../../core/db/accounts/people.ts'
import { setSignedUpFrom } from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { refuse } from '../../../core/errors.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { wideNetworkOf } from '../../auth/client-address.ts'
import type { Deps } from '../../deps.ts'
import { abandonAccount, auditMember } from '../organisations/members.ts'
import { addOrganisation } from '../organisations/organisations.ts'
import { refuseLink } from '../people/links.ts'
import { addPerson, type Entrance } from '../people/people.ts'

/** Refuses where an account needs an invitation. */
export function demandOpen({ accounts }: Deps): void {
  if (accounts.signUp === 'open') return
  refuse('FORBIDDEN', 'Cannot sign up here: somebody has to invite you')
}

/** An account with an organisation of its own. To be called in the transaction that begins the person's session. */
export async function signUp(
  tx: Db,
  deps: Entrance,
  { person, organisationName }: { person: Person; organisationName: string },
): Promise<void> {
  await addPerson(tx, person)
  const actor = { name: `user:${encodeId('usr', person.id)}`, address: deps.address }
  const wish = { name: organisationName, plan: deps.accounts.defaultPlan, isSignedUp: true }
  const { organisation } = await addOrganisation(tx, { ...deps, actor }, wish)
  await setSignedUpFrom(tx, organisation.id, wideNetworkOf(deps.address))
  const place = { organisationId: organisation.id, personId: person.id }
  await insertMembership(tx, { ...place, role: 'owner', now: person.createdAt })
  const changes = { email: person.email, role: 'owner' }
  const now = person.createdAt.getTime()
  await auditMember(tx, place, { actor, action: 'member.join', changes, now })
}

/** Refuses a token that was mailed to no such address, before the password is hashed. */
export async function demandSignUpLink(
  { db, clock }: Deps,
  token: string,
  email: string,
): Promise<void> {
  const link = await findLink(db, 'sign-up', hashSecret(token), new Date(clock.now()))
  if (link === undefined) refuseLink()
  refuseOther(link.email, email)
}

/** Uses the link up. An account with the address that was never verified yields. */
export async function useSignUpLink(
  tx: Db,
  { clock }: Entrance,
  token: string,
  email: string,
): Promise<void> {
  const now = new Date(clock.now())
  const link = (await takeLink(tx, 'sign-up', hashSecret(token), now)) ?? refuseLink()
  refuseOther(link.email, email)
  await deleteLinksTo(tx, 'sign-up', email)
  const former = await findPersonByEmail(tx, email)
  if (former?.emailVerifiedAt === null) await abandonAccount(tx, former, now)
}

/**
 * The owner of an address begins a new account in place of one that was made without proving it. They get an organisation
 * of their own where anybody does.
 */
export async function beginAnew(
  tx: Db,
  deps: Entrance,
  former: Person,
  passwordHash: string,
): Promise<void> {
  const now = new Date(deps.clock.now())
  const { email } = former
  await abandonAccount(tx, former, now)
  const id = newId(now.getTime())
  const person = { id, email, name: email, passwordHash, emailVerifiedAt: now, createdAt: now }
  if (deps.accounts.signUp === 'open') await signUp(tx, deps, { person, organisationName: email })
  else await addPerson(tx, person)
}

function refuseOther(linked: string | null, email: string): void {
  if (linked !== email) refuse('FORBIDDEN', 'This link was mailed to another address')
}
