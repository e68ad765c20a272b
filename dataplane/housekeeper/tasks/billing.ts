import { settle, type BillingDeps } from '../../../core/billing/change-plan.ts'
import { closeWindows } from '../../../core/billing/close-windows.ts'
import { reclassifyOrganisations } from '../../../core/billing/reclassify.ts'
import { dueSubscriptions } from '../../../core/db/billing/subscriptions.ts'
import { ensurePartitions } from '../../../core/db/connection/day-partitions.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { announceChanges } from '../../../core/notices/config-changes.ts'

export interface BillingTaskDeps extends BillingDeps {
  db: Db
  nats: NatsConnection
}

/** Subscriptions that are carried over a boundary by one run. */
const SETTLE_BATCH = 100

/** Writes what time has made of subscriptions, and records the usage windows that ended. Returns whether there were any. */
export async function keepBilling(deps: BillingTaskDeps): Promise<boolean> {
  const settled = await settleDue(deps)
  const closed = await closeWindows(deps.db, deps)
  return settled + closed > 0
}

/** Applies the present plans to the organisations: a start may bring changed ones. */
export async function followPlans(deps: BillingTaskDeps): Promise<void> {
  const { db, clock } = deps
  if (await reclassifyOrganisations(db, deps)) await ensurePartitions(db, clock.now())
}

async function settleDue(deps: BillingTaskDeps): Promise<number> {
  const { db, clock } = deps
  const due = await dueSubscriptions(db, new Date(clock.now()), SETTLE_BATCH)
  if (due.length === 0) return 0
  let isOnNewPlan = false
  for (const id of due) {
    const settled = await db.transaction().execute(async (tx) => await settle(tx, deps, id))
    isOnNewPlan ||= settled?.isOnNewPlan === true
  }
  if (isOnNewPlan) await ensurePartitions(db, clock.now())
  await announceChanges(
    deps,
    due.map((id) => ({ kind: 'organisation', id })),
  )
  return due.length
}
