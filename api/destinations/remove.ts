import type { Connection } from '../../core/db/configuration/connections.ts'
import {
  deleteDestination,
  type Destination as Row,
} from '../../core/db/configuration/destinations.ts'
import {
  addPendingCancellations,
  cancellationForDestination,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import type { Call } from '../http/route.ts'
import { cancelWaiting } from '../writes/cancel-waiting.ts'
import { cascadeOf } from '../writes/cascade.ts'
import { demandResource, note } from '../writes/write-resource.ts'
import { DESTINATION } from './resource.ts'

type Removal = Call<{ id: string }, { cascade: boolean }>

/** Deletes a destination and, with `cascade`, its connections; the deliveries that wait for it are cancelled. */
export async function removeDestination(call: Removal): Promise<void> {
  const { destination, connections } = await deleteStored(call)
  await cancelWaiting(call.deps, [cancellationForDestination(destination.id)])
  await announceChanges(call.deps, [
    { kind: 'destination', id: destination.id },
    ...connections.map(({ sourceId }) => ({ kind: 'source' as const, id: sourceId })),
  ])
}

async function deleteStored(call: Removal): Promise<{
  destination: Row
  connections: Connection[]
}> {
  const { deps, reach, params } = call
  return await deps.db.transaction().execute(async (tx) => {
    const found = await demandResource(tx, DESTINATION, reach, params.id)
    const connections = await cascadeOf(tx, call, 'destination', found.id)
    await addPendingCancellations(
      tx,
      [cancellationForDestination(found.id)],
      new Date(deps.clock.now()),
    )
    await deleteDestination(tx, found.id)
    const shown = { name: found.name, connections: connections.map(({ name }) => name) }
    await note(tx, call, DESTINATION, { verb: 'delete', row: found, shown })
    return { destination: found, connections }
  })
}
