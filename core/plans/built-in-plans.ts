import type { Plans } from './plans.ts'

/** Entitlements of each plan unless `PLANS_FILE` changes them. (spec: Limits; decisions: Billing and plans, Ingest) */
export const BUILT_IN_PLANS: Plans = {
  hobby: {
    retentionDays: 3,
    maxDeliveriesPerSecond: 10,
    burstDeliveriesPerSecond: 20,
    deliveryQuota: 10_000,
    isHardCapped: true,
    connectors: 1,
    replicasPerConnector: 2,
    seats: 2,
    ingestRequestsPerSecond: 50,
  },
  launch: {
    retentionDays: 7,
    maxDeliveriesPerSecond: 50,
    burstDeliveriesPerSecond: 100,
    deliveryQuota: 100_000,
    isHardCapped: false,
    connectors: 3,
    replicasPerConnector: 3,
    seats: 5,
    ingestRequestsPerSecond: 500,
  },
  scale: {
    retentionDays: 30,
    maxDeliveriesPerSecond: 200,
    burstDeliveriesPerSecond: 400,
    deliveryQuota: 1_000_000,
    isHardCapped: false,
    connectors: 10,
    replicasPerConnector: 5,
    seats: 20,
    ingestRequestsPerSecond: 2_000,
  },
  enterprise: {
    retentionDays: 90,
    maxDeliveriesPerSecond: null,
    burstDeliveriesPerSecond: null,
    deliveryQuota: null,
    isHardCapped: false,
    connectors: null,
    replicasPerConnector: null,
    seats: null,
    ingestRequestsPerSecond: null,
  },
}
