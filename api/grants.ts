import type { Db } from '../core/db/db.ts'
import { findOrganisation } from '../core/db/organisations.ts'
import { entitlementsOf, type Entitlements } from '../core/plans/plans.ts'

/** What an organisation's plan grants it, its negotiated overrides included. */
export async function entitlementsFor(db: Db, organisationId: string): Promise<Entitlements> {
  const organisation = await findOrganisation(db, organisationId)
  if (organisation === undefined) throw new Error('A resource has no organisation')
  return entitlementsOf(organisation.plan, organisation.overrides)
}
