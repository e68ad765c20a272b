import { z } from 'zod'

import { RETENTION_CLASSES } from '../limits.ts'

export const PLAN_NAMES = ['hobby', 'launch', 'scale', 'enterprise'] as const

export type PlanName = (typeof PLAN_NAMES)[number]

const PlanSchema = z.enum(PLAN_NAMES)

const RETENTION_DAYS_MAX = Math.max(...RETENTION_CLASSES)
const limit = z.int().min(1).nullable()

/** What a plan grants; null is unlimited. (spec: Plan entitlements; decisions: Billing and plans) */
export const Entitlements = z.strictObject({
  retentionDays: z.int().min(1).max(RETENTION_DAYS_MAX),
  maxDeliveriesPerSecond: limit,
  burstDeliveriesPerSecond: limit,
  /** Of one usage window. */
  deliveryQuota: z.int().min(0).nullable(),
  /** At the quota: refused with `QUOTA_EXCEEDED`, or else metered. */
  isHardCapped: z.boolean(),
  connectors: z.int().min(0).nullable(),
  replicasPerConnector: limit,
  seats: limit,
})

export type Entitlements = z.infer<typeof Entitlements>

/** The whole organisation at ingest. (decisions: Ingest, Organisation clamp) */
const ingestRequestsPerSecond = limit

/** A negotiated plan: what differs from the plan it is based on. (decisions: Billing and plans) */
export const EntitlementOverrides = z
  .strictObject({ ...Entitlements.shape, ingestRequestsPerSecond })
  .partial()

export type EntitlementOverrides = z.infer<typeof EntitlementOverrides>

interface Plan {
  entitlements: Entitlements
  ingestRequestsPerSecond: number | null
}

const PLANS: Record<PlanName, Plan> = {
  hobby: {
    entitlements: {
      retentionDays: 3,
      maxDeliveriesPerSecond: 10,
      burstDeliveriesPerSecond: 20,
      deliveryQuota: 10_000,
      isHardCapped: true,
      connectors: 1,
      replicasPerConnector: 2,
      seats: 2,
    },
    ingestRequestsPerSecond: 50,
  },
  launch: {
    entitlements: {
      retentionDays: 7,
      maxDeliveriesPerSecond: 50,
      burstDeliveriesPerSecond: 100,
      deliveryQuota: 100_000,
      isHardCapped: false,
      connectors: 3,
      replicasPerConnector: 3,
      seats: 5,
    },
    ingestRequestsPerSecond: 500,
  },
  scale: {
    entitlements: {
      retentionDays: 30,
      maxDeliveriesPerSecond: 200,
      burstDeliveriesPerSecond: 400,
      deliveryQuota: 1_000_000,
      isHardCapped: false,
      connectors: 10,
      replicasPerConnector: 5,
      seats: 20,
    },
    ingestRequestsPerSecond: 2_000,
  },
  enterprise: {
    entitlements: {
      retentionDays: 90,
      maxDeliveriesPerSecond: null,
      burstDeliveriesPerSecond: null,
      deliveryQuota: null,
      isHardCapped: false,
      connectors: null,
      replicasPerConnector: null,
      seats: null,
    },
    ingestRequestsPerSecond: null,
  },
}

/**
 * The plan's entitlements with an organisation's overrides on top, in the shape of `GET /v1/billing/plan`. Takes both
 * as their row holds them; throws on a plan or an override that there is not.
 */
export function entitlementsOf(plan: string, overrides: unknown): Entitlements {
  const given = Object.entries(EntitlementOverrides.parse(overrides)).filter(
    ([name, value]) => name !== 'ingestRequestsPerSecond' && value !== undefined,
  )
  return { ...PLANS[PlanSchema.parse(plan)].entitlements, ...Object.fromEntries(given) }
}

/** Requests per second that ingest takes from the whole organisation; null is unlimited. (decisions: Ingest) */
export function ingestClampOf(plan: string, overrides: unknown): number | null {
  const { ingestRequestsPerSecond: override } = EntitlementOverrides.parse(overrides)
  return override === undefined ? PLANS[PlanSchema.parse(plan)].ingestRequestsPerSecond : override
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
