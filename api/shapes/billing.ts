import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { Entitlements, PLAN_NAMES } from '../../core/plans/plans.ts'
import { overageOf, type Standing } from '../../core/plans/standing.ts'
import type { Subscription as SubscriptionState } from '../../core/plans/subscription.ts'
import { Timestamp } from '../fields.ts'

const PlanName = z.enum(PLAN_NAMES).meta({ id: 'PlanName' })
const Count = z.int().min(0)

const Subscription = z
  .strictObject({
    status: z.enum(['active', 'cancelled']),
    currentPeriodStart: Timestamp,
    currentPeriodEnd: Timestamp,
    cancelAtPeriodEnd: z.boolean(),
    scheduledChange: z.strictObject({ plan: PlanName, at: Timestamp }).nullable(),
  })
  .meta({ id: 'Subscription' })

/** (decisions: Billing and plans) */
export const Plan = z
  .strictObject({
    plan: PlanName,
    entitlements: Entitlements.meta({ id: 'Entitlements' }),
    subscription: Subscription.nullable(),
  })
  .meta({ id: 'Plan' })

export const Usage = z
  .strictObject({
    deliveries: Count,
    limit: Count.nullable(),
    overage: Count,
    windowStart: Timestamp,
    resetAt: Timestamp,
  })
  .meta({ id: 'Usage' })

export const PlanChange = z.strictObject({
  plan: PlanName,
  when: z.enum(['now', 'period_end']).optional(),
})

export function viewPlan({ plan, entitlements, subscription }: Standing): z.input<typeof Plan> {
  return {
    plan,
    entitlements,
    subscription: subscription === undefined ? null : viewSubscription(subscription),
  }
}

export function viewUsage(
  { entitlements, window }: Standing,
  deliveries: number,
): z.input<typeof Usage> {
  return {
    deliveries,
    limit: entitlements.deliveryQuota,
    overage: overageOf(entitlements, deliveries),
    windowStart: timestamp(window.startedAtMs),
    resetAt: timestamp(window.endsAtMs),
  }
}

function viewSubscription(state: SubscriptionState): z.input<typeof Subscription> {
  const { status, currentPeriodStartMs, currentPeriodEndMs, cancelAtPeriodEnd } = state
  const at = timestamp(currentPeriodEndMs)
  return {
    status,
    currentPeriodStart: timestamp(currentPeriodStartMs),
    currentPeriodEnd: at,
    cancelAtPeriodEnd,
    scheduledChange: state.scheduledPlan === null ? null : { plan: state.scheduledPlan, at },
  }
}
