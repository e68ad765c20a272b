import { retryDeliveries, type RetryRefusal } from '../../core/actions/retry-deliveries.ts'
import { findDelivery, type Delivery } from '../../core/db/deliveries/read/deliveries.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { refuse } from '../../core/errors.ts'
import { wakeWorkers } from '../../core/notices/wake.ts'
import type { Principal } from '../auth/principal.ts'
import { entitlementsFor } from '../billing/standing.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import { audit } from '../writes/transact.ts'

const BECAUSE: Record<RetryRefusal, string> = {
  in_flight: 'it is in flight',
  throttled: 'it is throttled',
  test_delivery: 'it is a test delivery',
  destination_deleted: 'its destination was deleted',
  connection_deleted: 'its connection was deleted',
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
    const plan = await entitlementsFor(deps, tx, organisationId)
    const how = { organisationId, plan, operationId: null, now }
    const refusal = (await retryDeliveries(tx, [found], how)).get(id)
    if (refusal !== undefined) refuse('CONFLICT', `Cannot retry delivery: ${BECAUSE[refusal]}`)
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
  wakeWorkers(deps.nats)
  return delivery
}
