import { findConnection } from '../core/db/connections.ts'
import type { Db } from '../core/db/db.ts'
import { findDelivery, type Delivery } from '../core/db/deliveries.ts'
import { findDestination } from '../core/db/destinations.ts'
import type { Reach } from '../core/db/page.ts'
import { retryNow } from '../core/db/retries.ts'
import { refuse } from '../core/errors.ts'
import { isPaced } from '../core/plans/plans.ts'
import { partitionOf, WAITING_DUE } from '../core/stream/subjects.ts'
import { audit } from './change.ts'
import type { Deps } from './deps.ts'
import { refuseMissing } from './failure.ts'
import { entitlementsFor } from './grants.ts'
import type { Principal } from './principal.ts'

/** What a retry does to a delivery of each status. (decisions: Answers of actions) */
const RETRY: Readonly<Record<string, 'allowed' | 'refused'>> = {
  pending: 'allowed',
  succeeded: 'allowed',
  failed: 'allowed',
  cancelled: 'allowed',
  throttled: 'refused',
  in_flight: 'refused',
}

/** Makes one attempt due now and tells the workers. Throws the refusals of the retry route. */
export async function retryDelivery(
  deps: Deps,
  principal: Principal,
  reach: Reach,
  id: string,
): Promise<Delivery> {
  const now = new Date(deps.clock.now())
  const { organisationId } = principal
  const delivery = await deps.db.transaction().execute(async (tx) => {
    const found = (await findDelivery(tx, reach, id, { lock: true })) ?? refuseMissing('dlv', id)
    if (RETRY[found.status] !== 'allowed') {
      refuse('CONFLICT', `Cannot retry delivery: it is ${found.status.replace('_', ' ')}`)
    }
    await refuseWithoutEnds(tx, organisationId, found)
    // Its first attempt is with a worker or on its way there: that is the attempt that was asked for.
    const isUnderWay = found.leaseUntil !== null && found.leaseUntil > now
    if (!isUnderWay) {
      const { destinationId, projectId } = found
      const plan = await entitlementsFor(tx, organisationId)
      const partition = partitionOf(organisationId, destinationId, isPaced(plan))
      await retryNow(tx, {
        class: found.class,
        deliveryId: found.id,
        organisationId,
        projectId,
        destinationId,
        partition,
        now,
      })
    }
    await audit(tx, deps, {
      principal,
      projectId: found.projectId,
      kind: 'delivery',
      verb: 'retry',
      id: found.id,
      changes: { status: found.status },
    })
    return (await findDelivery(tx, reach, id)) ?? found
  })
  if (!deps.nats.isClosed()) deps.nats.publish(WAITING_DUE)
  return delivery
}

/** Nothing could be sent: a worker would cancel it again. */
async function refuseWithoutEnds(
  tx: Db,
  organisationId: string,
  delivery: Delivery,
): Promise<void> {
  const reach = { organisationId, projectId: undefined }
  if (delivery.eventId === null || delivery.connectionId === null) {
    refuse('CONFLICT', 'Cannot retry delivery: it is a test delivery')
  }
  if ((await findDestination(tx, reach, delivery.destinationId)) === undefined) {
    refuse('CONFLICT', 'Cannot retry delivery: its destination was deleted')
  }
  if ((await findConnection(tx, reach, delivery.connectionId)) === undefined) {
    refuse('CONFLICT', 'Cannot retry delivery: its connection was deleted')
  }
}
