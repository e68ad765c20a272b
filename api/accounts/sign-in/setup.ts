import { deleteLinks, takeLink } from '../../../core/db/accounts/links.ts'
import { hasOwner, insertMembership } from '../../../core/db/accounts/memberships.ts'
import type { Person } from '../../../core/db/accounts/people.ts'
import {
  findOwnOrganisation,
  lockOrganisation,
} from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit } from '../../../core/db/requests/audit.ts'
import { encodeId } from '../../../core/ids.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import type { PlanName } from '../../../core/plans/plans.ts'
import { addOrganisation, type Tenancy } from '../organisations/organisations.ts'
import { refuseLink } from '../people/links.ts'
import { addPerson } from '../people/people.ts'

/** The name of the organisation that is made for the first owner where there is none. */
const FIRST_ORGANISATION = 'Main'

/**
 * Makes the person the first owner of the installation's own organisation, or of a new one where there is none. To be
 * called in the transaction that begins their session.
 */
export async function setUp(
  tx: Db,
  tenancy: Tenancy,
  { token, person, plan }: { token: string; person: Person; plan: PlanName },
): Promise<void> {
  const now = new Date(tenancy.clock.now())
  const link = await takeLink(tx, 'setup', hashSecret(token), now)
  if (link === undefined) refuseLink()
  const own = await findOwnOrganisation(tx)
  const { organisation } =
    own === undefined
      ? await addOrganisation(tx, tenancy, { name: FIRST_ORGANISATION, plan })
      : { organisation: own }
  // Whoever accepts an invitation as an owner holds the same lock.
  await lockOrganisation(tx, organisation.id)
  if (await hasOwner(tx)) refuseLink()
  await addPerson(tx, person)
  await insertMembership(tx, {
    organisationId: organisation.id,
    personId: person.id,
    role: 'owner',
    now,
  })
  await deleteLinks(tx, 'setup')
  await writeAudit(
    tx,
    {
      organisationId: organisation.id,
      projectId: null,
      actor: { ...tenancy.actor, name: `user:${encodeId('usr', person.id)}` },
      action: 'member.join',
      subjectKind: 'user',
      subjectId: person.id,
      changes: { email: person.email, role: 'owner' },
    },
    now.getTime(),
  )
}
