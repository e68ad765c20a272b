import { closeWindow, hasEndedWindows, takeEndedWindows } from '../db/billing/usage.ts'
import type { Db } from '../db/connection/db.ts'
import { entitlementsOf } from '../plans/plans.ts'
import { overageOf } from '../plans/standing.ts'
import type { BillingDeps } from './change-plan.ts'

/** By then, events accepted in a window's last moment are nearly always committed and folded. */
const GRACE_MS = 30_000

/**
 * Records usage windows that ended, each with what the ledger does not hold of it yet: the sum of a window's rows is
 * the number of deliveries counted in it, however late one of them was. Returns how many windows it recorded.
 */
export async function closeWindows(db: Db, deps: BillingDeps): Promise<number> {
  const now = new Date(deps.clock.now())
  const cutoff = new Date(now.getTime() - GRACE_MS)
  // A look costs one statement, a transaction three.
  if (!(await hasEndedWindows(db, cutoff))) return 0
  return await db.transaction().execute(async (tx) => {
    const windows = await takeEndedWindows(tx, cutoff)
    for (const window of windows) {
      const { organisationId, startedAtMs, endsAtMs, deliveries, ledgered, plan } = window
      const entitlements = entitlementsOf(deps.plans, plan, window.overrides)
      const overage = overageOf(entitlements, deliveries) - overageOf(entitlements, ledgered)
      const fact = {
        organisationId,
        kind: 'window.closed' as const,
        plan,
        window: { startedAtMs, endsAtMs },
        deliveries: deliveries - ledgered,
        overage,
        details: { quota: entitlements.deliveryQuota },
        atMs: now.getTime(),
      }
      await deps.ledger(tx, [fact])
      await closeWindow(tx, window, now)
    }
    return windows.length
  })
}
