import { insertMembership } from '../../../core/db/accounts/memberships.ts'
import type { Person } from '../../../core/db/accounts/people.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { encodeId } from '../../../core/ids.ts'
import { auditMember } from '../organisations/members.ts'
import { addOrganisation } from '../organisations/organisations.ts'
import { addPerson, type Entrance } from '../people/people.ts'

/** An account with an organisation of its own. To be called in the transaction that begins the person's session. */
export async function signUp(
  tx: Db,
  deps: Entrance,
  { person, organisationName }: { person: Person; organisationName: string },
): Promise<void> {
  await addPerson(tx, person)
  const actor = { name: `user:${encodeId('usr', person.id)}`, address: deps.address }
  const wish = { name: organisationName, plan: deps.accounts.defaultPlan }
  const { organisation } = await addOrganisation(tx, { ...deps, actor }, wish)
  const place = { organisationId: organisation.id, personId: person.id }
  await insertMembership(tx, { ...place, role: 'owner', now: person.createdAt })
  const changes = { email: person.email, role: 'owner' }
  const now = person.createdAt.getTime()
  await auditMember(tx, place, { actor, action: 'member.join', changes, now })
}
