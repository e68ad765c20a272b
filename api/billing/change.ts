import { changeSubscription } from '../../core/billing/change-plan.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { refuse } from '../../core/errors.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { standingAt, type Standing } from '../../core/plans/standing.ts'
import type { Transition } from '../../core/plans/subscription.ts'
import type { Principal } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'

/**
 * Does what a client wishes of its subscription; what follows holds at ingest when this returns. Refused where plans are the
 * operator's: a change, and also a cancellation or a resumption of what the operator has arranged.
 */
export async function changeBilling(
  deps: Deps,
  { organisationId, actor }: Pick<Principal, 'organisationId' | 'actor'>,
  wish: Transition,
): Promise<Standing> {
  if (!deps.accounts.hasSelfServicePlans) {
    refuse('FORBIDDEN', 'Cannot change the plan here: the operator of this installation does')
  }
  const { rows, nowMs, isOnNewPlan } = await deps.db
    .transaction()
    .execute(async (tx) => await changeSubscription(tx, deps, { organisationId, actor }, wish))
  if (isOnNewPlan) await ensurePartitions(deps.db, nowMs)
  await announceChanges(deps, [{ kind: 'organisation', id: organisationId }])
  return standingAt(deps.plans, rows, nowMs)
}
