import { z } from 'zod'

import { RETENTION_CLASSES } from '../limits.ts'

export const PLAN_NAMES = ['hobby', 'launch', 'scale', 'enterprise'] as const

export type PlanName = (typeof PLAN_NAMES)[number]

const PlanSchema = z.enum(PLAN_NAMES)

const RETENTION_DAYS_MAX = Math.max(...RETENTION_CLASSES)
const limit = z.int().min(1).nullable()

/** The entitlements of a plan; null is unlimited. (spec: Plan entitlements; decisions: Billing and plans) */
export const Entitlements = z
  .strictObject({
    retentionDays: z
      .int()
      .min(1)
      .max(RETENTION_DAYS_MAX)
      .describe('How many days events are kept.'),
    maxDeliveriesPerSecond: limit.describe('Deliveries per second in the long run.'),
    burstDeliveriesPerSecond: limit.describe('Deliveries that may go out at once.'),
    deliveryQuota: z.int().min(0).nullable().describe('Deliveries of one usage window.'),
    isHardCapped: z
      .boolean()
      .describe('At the quota: refused with `QUOTA_EXCEEDED` if true, metered if false.'),
    connectors: z.int().min(0).nullable().describe('Connectors of the organisation.'),
    replicasPerConnector: limit.describe('Replicas of each connector.'),
    seats: limit.describe('Members of the organisation, open invitations included.'),
  })
  .meta({
    id: 'Entitlements',
    description: 'The limits and features of a plan; null is unlimited.',
  })

export type Entitlements = z.infer<typeof Entitlements>

/** The whole organisation at ingest. (decisions: Ingest, Organisation clamp) */
const ingestRequestsPerSecond = limit

/** A negotiated plan: what differs from the plan it is based on. (decisions: Billing and plans) */
export const EntitlementOverrides = z
  .strictObject({ ...Entitlements.shape, ingestRequestsPerSecond })
  .partial()

export type EntitlementOverrides = z.infer<typeof EntitlementOverrides>

/** A plan whole: what it grants and what it lets in. */
const Plan = z.strictObject({ ...Entitlements.shape, ingestRequestsPerSecond })

/** All plans of this installation. */
export const Plans = z.record(PlanSchema, Plan)

export type Plans = Readonly<z.infer<typeof Plans>>

/** The free plan, to which an organisation falls back when its subscription ends. (spec: Limits, "Delivery quota") */
export const FREE_PLAN: PlanName = 'hobby'

/** Throws on a name that is no plan: as a row holds it. */
export function planOf(name: string): PlanName {
  return PlanSchema.parse(name)
}

/**
 * The plan's entitlements with an organisation's overrides on top, in the shape of `GET /v1/billing/plan`. Takes both
 * as their row holds them; throws on a plan or an override that there is not.
 */
export function entitlementsOf(plans: Plans, plan: string, overrides: unknown): Entitlements {
  const { ingestRequestsPerSecond: _clamp, ...entitlements } = termsOf(plans, plan, overrides)
  return entitlements
}

/** Requests per second that ingest takes from the whole organisation; null is unlimited. (decisions: Ingest) */
export function ingestClampOf(plans: Plans, plan: string, overrides: unknown): number | null {
  return termsOf(plans, plan, overrides).ingestRequestsPerSecond
}

function termsOf(plans: Plans, plan: string, overrides: unknown): z.infer<typeof Plan> {
  const given = Object.entries(EntitlementOverrides.parse(overrides)).filter(
    ([, value]) => value !== undefined,
  )
  return { ...plans[PlanSchema.parse(plan)], ...Object.fromEntries(given) }
}

/** Whether the plan holds deliveries back: then all of the organisation's have to share one worker's memory. */
export function isPaced(entitlements: Entitlements): boolean {
  const { maxDeliveriesPerSecond, burstDeliveriesPerSecond } = entitlements
  return maxDeliveriesPerSecond !== null || burstDeliveriesPerSecond !== null
}

/** The partitions that an event is kept in: the smallest class that holds its retention. (spec: Limits) */
export function retentionClassOf(retentionDays: number): number {
  return RETENTION_CLASSES.find((days) => days >= retentionDays) ?? RETENTION_DAYS_MAX
}
