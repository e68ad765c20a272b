import { findPlanRows } from '../db/billing/subscriptions.ts'
import type { Db } from '../db/db.ts'
import type { Plans } from '../plans/plans.ts'
import { standingAt, type Standing } from '../plans/standing.ts'

/** What an organisation is granted now. Throws when there is no such organisation: a resource always has one. */
export async function findStanding(
  db: Db,
  plans: Plans,
  { organisationId, nowMs }: { organisationId: string; nowMs: number },
): Promise<Standing> {
  const rows = await findPlanRows(db, organisationId)
  if (rows === undefined) throw new Error('A resource has no organisation')
  return standingAt(plans, rows, nowMs)
}
