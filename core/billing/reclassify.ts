import { organisationsToPlace, setPlan } from '../db/configuration/organisations.ts'
import type { Db } from '../db/connection/db.ts'
import { entitlementsOf, retentionClassOf, type Plans } from '../plans/plans.ts'
import { settle, type BillingDeps } from './change-plan.ts'

/**
 * Moves organisations to the partitions that their plan asks for now: `PLANS_FILE` may have changed while nothing ran.
 * Returns whether one was moved.
 */
export async function reclassifyOrganisations(db: Db, deps: BillingDeps): Promise<boolean> {
  const classes = Object.keys(deps.plans).map((plan) => ({
    plan,
    retentionClass: classOf(deps.plans, plan, {}),
  }))
  const misplaced = (await organisationsToPlace(db, classes)).filter(
    ({ plan, overrides, retentionClass }) =>
      classOf(deps.plans, plan, overrides) !== retentionClass,
  )
  for (const { id } of misplaced) {
    await db.transaction().execute(async (tx) => {
      const settled = await settle(tx, deps, id)
      if (settled === undefined) return
      const { plan, overrides } = settled.rows
      const retentionClass = classOf(deps.plans, plan, overrides)
      const updatedAt = new Date(settled.nowMs)
      await setPlan(tx, id, { plan, overrides, retentionClass, updatedAt })
    })
  }
  return misplaced.length > 0
}

function classOf(plans: Plans, plan: string, overrides: Record<string, unknown>): number {
  return retentionClassOf(entitlementsOf(plans, plan, overrides).retentionDays)
}
