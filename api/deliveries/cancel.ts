import { setTimeout as sleep } from 'node:timers/promises'

import { withdrawAndCancel } from '../../core/actions/withdraw-and-cancel.ts'
import { findDelivery, type Delivery } from '../../core/db/deliveries/read/deliveries.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { refuse } from '../../core/errors.ts'
import type { Principal } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing, Unavailable } from '../http/failure.ts'
import { audit } from '../writes/transact.ts'

/** A delivery that moves (sweeper, lane, parked) comes to rest long before the last try. */
const TRIES = 20
const AGAIN_MS = 25

/** Cancels a waiting delivery; no attempt of it begins afterwards. Throws the refusals of the cancel route. */
export async function cancelDelivery(
  deps: Deps,
  principal: Principal,
  reach: Reach,
  id: string,
): Promise<Delivery> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const found = (await findDelivery(deps.db, reach, id)) ?? refuseMissing('dlv', id)
    const outcomes = await withdrawAndCancel(deps, [found], async (tx, cancelled) => {
      for (const one of cancelled) {
        await audit(tx, deps, {
          principal,
          projectId: one.projectId,
          kind: 'delivery',
          verb: 'cancel',
          id: one.id,
          changes: { status: one.status },
        })
      }
    })
    const present = (await findDelivery(deps.db, reach, id)) ?? refuseMissing('dlv', id)
    switch (outcomes.get(id) ?? 'moved') {
      case 'cancelled':
        return present
      case 'not_waiting':
        refuseStatus(present.status)
      case 'under_way':
        refuseStatus('in_flight')
      case 'unanswered':
        throw new Unavailable('No worker says that it has let go of the delivery')
      case 'moved':
        await sleep(AGAIN_MS)
    }
  }
  refuse('CONFLICT', 'Cannot cancel delivery: a worker is taking it')
}

function refuseStatus(status: string): never {
  refuse('CONFLICT', `Cannot cancel delivery: it is ${status.replace('_', ' ')}`)
}
