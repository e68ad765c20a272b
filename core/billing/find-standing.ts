import { findPlanRows } from '../db/billing/subscriptions.ts'
import type { Db } from '../db/connection/db.ts'
import type { Plans } from '../plans/plans.ts'
import { standingAt, type Standing } from '../plans/standing.ts'

/** Reads the present standing of an organisation. Throws if it does not exist: a resource always has one. */
export async function findStanding(
  db: Db,
  plans: Plans,
  { organisationId, nowMs }: { organisationId: string; nowMs: number },
): Promise<Standing> {
  const rows = await findPlanRows(db, organisationId)
  if (rows === undefined) throw new Error('A resource has no organisation')
  return standingAt(plans, rows, nowMs)
}
