import {
  entitlementsOf,
  ingestClampOf,
  planOf,
  retentionClassOf,
  type Entitlements,
  type PlanName,
  type Plans,
} from './plans.ts'
import { advance, type Subscription } from './subscription.ts'

/** The stored plan of an organisation, as it was last written. */
export interface PlanRows {
  plan: string
  overrides: Record<string, unknown>
  subscription: Subscription | undefined
}

/** Deliveries are counted from the first moment on and up to, not including, the last. */
export interface UsageWindow {
  startedAtMs: number
  endsAtMs: number
}

/** Plan, entitlements and usage window of an organisation at one moment. */
export interface Standing {
  plan: PlanName
  entitlements: Entitlements
  ingestRequestsPerSecond: number | null
  retentionClass: number
  window: UsageWindow
  /** Advanced to the moment; undefined when there never was one. */
  subscription: Subscription | undefined
}

/** Applies what time has made due since the rows were written, so that no reader waits for the housekeeper. */
export function standingAt(plans: Plans, rows: PlanRows, nowMs: number): Standing {
  const advanced = rows.subscription && advance(rows.subscription, nowMs)
  const hasMoved = advanced !== undefined && advanced.passed.length > 0
  const plan = planOf(hasMoved ? advanced.subscription.plan : rows.plan)
  const entitlements = entitlementsOf(plans, plan, rows.overrides)
  return {
    plan,
    entitlements,
    ingestRequestsPerSecond: ingestClampOf(plans, plan, rows.overrides),
    retentionClass: retentionClassOf(entitlements.retentionDays),
    window: windowAt(advanced?.subscription, nowMs),
    subscription: advanced?.subscription,
  }
}

/** Deliveries that are refused at, for hard-capped plans; null where nothing is refused. (spec: Delivery quota) */
export function hardCapOf({ deliveryQuota, isHardCapped }: Entitlements): number | null {
  return isHardCapped ? deliveryQuota : null
}

/** Deliveries past the quota, where they are metered instead of refused. */
export function overageOf(entitlements: Entitlements, deliveries: number): number {
  const { deliveryQuota, isHardCapped } = entitlements
  return isHardCapped || deliveryQuota === null ? 0 : Math.max(0, deliveries - deliveryQuota)
}

/**
 * The subscription's period, or else the UTC calendar month; the month in which a subscription ended begins at its
 * end, so that no delivery is in two windows. (spec: Limits, "Delivery quota")
 */
function windowAt(subscription: Subscription | undefined, nowMs: number): UsageWindow {
  if (subscription?.status === 'active') {
    const { currentPeriodStartMs, currentPeriodEndMs } = subscription
    return { startedAtMs: currentPeriodStartMs, endsAtMs: currentPeriodEndMs }
  }
  const now = new Date(nowMs)
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
  return {
    startedAtMs: Math.max(monthMs, subscription?.currentPeriodEndMs ?? 0),
    endsAtMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1),
  }
}
