import type { Fact } from '../db/billing/ledger.ts'
import type { PlanRows } from '../plans/standing.ts'
import type { Boundary, Subscription } from '../plans/subscription.ts'

/** Ledger entries for periods that ended. */
export function factsOfBoundaries(organisationId: string, passed: readonly Boundary[]): Fact[] {
  return passed.flatMap(({ startedAtMs, endedAtMs, plan, nextPlan }): Fact[] => {
    const fact = (
      kind: Fact['kind'],
      planNow: string,
      details: Record<string, unknown> = {},
    ): Fact => ({
      ...EMPTY,
      organisationId,
      kind,
      plan: planNow,
      window: { startedAtMs, endsAtMs: endedAtMs },
      details,
      atMs: endedAtMs,
    })
    if (nextPlan === null) return [fact('subscription.ended', plan)]
    const renewed = fact('subscription.renewed', nextPlan)
    return nextPlan === plan ? [renewed] : [renewed, fact('plan.changed', nextPlan, { from: plan })]
  })
}

/** Ledger entries for a change that somebody made, from the states before and after. */
export function factsOfChange({
  organisationId,
  before,
  after,
  atMs,
}: {
  organisationId: string
  before: PlanRows
  after: PlanRows
  atMs: number
}): Fact[] {
  const facts: Fact[] = []
  const add = (kind: Fact['kind'], details: Record<string, unknown> = {}): void => {
    facts.push({ ...EMPTY, organisationId, kind, plan: after.plan, details, atMs })
  }
  const was = activeOf(before)
  const is = activeOf(after)
  if (was === undefined && is !== undefined) add('subscription.started')
  if (before.plan !== after.plan) add('plan.changed', { from: before.plan })
  if (before.overrides !== after.overrides) add('plan.overridden', { overrides: after.overrides })
  if (is === undefined) return facts
  const isCancelled = was?.cancelAtPeriodEnd === true
  if (is.cancelAtPeriodEnd && !isCancelled) add('subscription.cancel_scheduled')
  if (!is.cancelAtPeriodEnd && isCancelled) add('subscription.resumed')
  const scheduled = was?.scheduledPlan ?? null
  if (is.scheduledPlan !== null && is.scheduledPlan !== scheduled) {
    add('plan.change_scheduled', { to: is.scheduledPlan })
  }
  if (is.scheduledPlan === null && scheduled !== null)
    add('plan.change_reverted', { to: scheduled })
  return facts
}

const EMPTY = { window: null, deliveries: null, overage: null } as const

function activeOf({ subscription }: PlanRows): Subscription | undefined {
  return subscription?.status === 'active' ? subscription : undefined
}
