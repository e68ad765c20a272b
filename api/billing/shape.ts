import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { Entitlements, PLAN_NAMES } from '../../core/plans/plans.ts'
import { overageOf, type Standing } from '../../core/plans/standing.ts'
import type { Subscription as SubscriptionState } from '../../core/plans/subscription.ts'
import { Timestamp } from '../http/fields.ts'

const PlanName = z
  .enum(PLAN_NAMES)
  .meta({ id: 'PlanName', description: 'A plan that the installation offers.' })
const Count = z.int().min(0)

const ScheduledChange = z
  .strictObject({
    plan: PlanName,
    at: Timestamp.describe('When the plan changes.'),
  })
  .meta({ id: 'ScheduledPlanChange', description: 'A change of plan at the end of the period.' })

const Subscription = z
  .strictObject({
    status: z
      .enum(['active', 'cancelled'])
      .describe('`active` until a cancellation takes effect, then `cancelled` for good.'),
    currentPeriodStart: Timestamp.describe('When the present period began.'),
    currentPeriodEnd: Timestamp.describe('When the present period ends.'),
    cancelAtPeriodEnd: z.boolean().describe('The subscription ends with its present period.'),
    scheduledChange: ScheduledChange.nullable().describe(
      'The plan that comes next; null while none was chosen.',
    ),
  })
  .meta({ id: 'Subscription', description: 'The subscription of an organisation.' })

/** (decisions: Billing and plans) */
export const Plan = z
  .strictObject({
    plan: PlanName,
    entitlements: Entitlements,
    subscription: Subscription.nullable().describe(
      'The period that is paid for; null on a plan without a subscription.',
    ),
  })
  .meta({ id: 'BillingPlan', description: 'The plan of the organisation and what it grants.' })

export const Usage = z
  .strictObject({
    deliveries: Count.describe('Deliveries counted in the window.'),
    limit: Count.nullable().describe('The quota of the plan; null is unlimited.'),
    overage: Count.describe('Deliveries beyond the quota.'),
    windowStart: Timestamp.describe('When the window began.'),
    resetAt: Timestamp.describe('When the window ends and the count starts again at zero.'),
  })
  .meta({ id: 'Usage', description: 'The deliveries of the present usage window.' })

export const PlanChange = z
  .strictObject({
    plan: PlanName,
    when: z
      .enum(['now', 'period_end'])
      .optional()
      .describe('Without it a larger plan begins now and a smaller one at the end of the period.'),
  })
  .meta({ id: 'PlanChange', description: 'The plan to change to.' })

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
