import { connectionsOf, type Connection } from '../../core/db/configuration/connections.ts'
import {
  deleteDestination,
  type Destination as Row,
} from '../../core/db/configuration/destinations.ts'
import {
  addPendingCancellations,
  cancellationForDestination,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { refuse } from '../../core/errors.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { demand } from '../auth/principal.ts'
import type { Call } from '../http/route.ts'
import { cancelWaiting } from '../writes/cancel-waiting.ts'
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
  const { deps, principal, reach, params, query } = call
  return await deps.db.transaction().execute(async (tx) => {
    const found = await demandResource(tx, DESTINATION, reach, params.id)
    const connections = await connectionsOf(tx, 'destination_id', found.id)
    if (connections.length > 0) {
      if (!query.cascade) {
        refuse(
          'CONFLICT',
          `Cannot delete destination: ${connections.length} connections use it (cascade=true deletes them)`,
        )
      }
      demand(principal, { resource: 'connections', level: 'write', isExplicit: true })
    }
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
