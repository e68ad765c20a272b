import { findStanding } from '../../core/billing/find-standing.ts'
import type { Db } from '../../core/db/connection/db.ts'
import type { Entitlements } from '../../core/plans/plans.ts'
import type { Standing } from '../../core/plans/standing.ts'
import type { Deps } from '../deps.ts'

/** The plan, entitlements and usage window that an organisation has now. */
export async function standingFor(
  { plans, clock }: Pick<Deps, 'plans' | 'clock'>,
  db: Db,
  organisationId: string,
): Promise<Standing> {
  return await findStanding(db, plans, { organisationId, nowMs: clock.now() })
}

/** Reads the organisation's plan with its negotiated overrides. */
export async function entitlementsFor(
  deps: Pick<Deps, 'plans' | 'clock'>,
  db: Db,
  organisationId: string,
): Promise<Entitlements> {
  return (await standingFor(deps, db, organisationId)).entitlements
}
