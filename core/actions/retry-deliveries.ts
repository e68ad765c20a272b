import { connectionNames } from '../db/configuration/connections.ts'
import { findDestinations } from '../db/configuration/destinations.ts'
import type { Db } from '../db/connection/db.ts'
import type { LockedDelivery } from '../db/deliveries/act/delivery-locks.ts'
import { makeRetries, type RetryOptions } from '../db/deliveries/act/retries.ts'
import { partitionOf } from '../delivery/partition-of.ts'
import { isPaced, type Entitlements } from '../plans/plans.ts'

/** Why a delivery is not attempted again. */
export type RetryRefusal =
  | 'in_flight'
  | 'throttled'
  | 'test_delivery'
  | 'destination_deleted'
  | 'connection_deleted'

/** Tells which ends of a delivery still exist. A retry needs both. */
interface Ends {
  hasDestination: boolean
  hasConnection: boolean
}

/**
 * Makes one attempt of each delivery that allows it, outside the budget, and returns why of the others, by id. When that
 * attempt fails, the delivery is again what it was. Call it with the deliveries locked. (decisions: Answers of actions)
 */
export async function retryDeliveries(
  tx: Db,
  deliveries: readonly LockedDelivery[],
  { plan, ...options }: RetryOptions & { plan: Entitlements },
): Promise<Map<string, RetryRefusal>> {
  const destinations = await findDestinations(
    tx,
    unique(deliveries.map(({ destinationId }) => destinationId)),
  )
  const connections = await connectionNames(
    tx,
    unique(deliveries.flatMap(({ connectionId }) => connectionId ?? [])),
  )
  const refusals = new Map<string, RetryRefusal>()
  const allowed: LockedDelivery[] = []
  for (const delivery of deliveries) {
    const refusal = refusalOfRetry(delivery, {
      hasDestination: destinations.has(delivery.destinationId),
      hasConnection: connections.has(delivery.connectionId ?? ''),
    })
    if (refusal === undefined) allowed.push(delivery)
    else refusals.set(delivery.id, refusal)
  }
  const { organisationId, now } = options
  const retries = allowed
    .filter((delivery) => !isUnderWay(delivery, now))
    .map((delivery) => ({
      retentionClass: delivery.retentionClass,
      deliveryId: delivery.id,
      projectId: delivery.projectId,
      destinationId: delivery.destinationId,
      partition: partitionOf(organisationId, delivery.destinationId, isPaced(plan)),
      status: delivery.status,
      completedAt: delivery.completedAt,
    }))
  await makeRetries(tx, retries, options)
  return refusals
}

function refusalOfRetry(delivery: LockedDelivery, ends: Ends): RetryRefusal | undefined {
  if (delivery.status === 'in_flight' || delivery.status === 'throttled') return delivery.status
  if (delivery.eventId === null || delivery.connectionId === null) return 'test_delivery'
  if (!ends.hasDestination) return 'destination_deleted'
  return ends.hasConnection ? undefined : 'connection_deleted'
}

/** Its first attempt is with a worker or on its way there: that is the attempt that was asked for. */
function isUnderWay({ leaseUntil }: LockedDelivery, now: Date): boolean {
  return leaseUntil !== null && leaseUntil > now
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)]
}
