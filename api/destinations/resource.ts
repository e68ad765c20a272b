import { connectionsOf } from '../../core/db/configuration/connections.ts'
import {
  DESTINATION_NAME_TAKEN,
  findDestination,
  insertDestination,
  updateDestination,
  type Destination,
} from '../../core/db/configuration/destinations.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { findConnector } from '../../core/db/connectors/connectors.ts'
import { endBusyWindow } from '../../core/db/deliveries/work/busy-windows.ts'
import { refuseField } from '../../core/errors.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { wakeWorkers } from '../../core/notices/wake.ts'
import type { Resource } from '../writes/write-resource.ts'

export const DESTINATION: Resource<Destination> = {
  kind: 'destination',
  prefix: 'dst',
  nameTaken: DESTINATION_NAME_TAKEN,
  find: async (tx, reach, id) => await findDestination(tx, reach, id, { lock: true }),
  insert: insertDestination,
  async update(tx, row) {
    await updateDestination(tx, row)
    if (isResumedNow(row)) await endBusyWindow(tx, row, row.updatedAt)
  },
  projectIdOf: (row) => row.projectId,
  async check(_deps, tx, { row, before, part }) {
    if (row.connectorId !== (before?.connectorId ?? null)) await checkConnector(tx, row, part)
  },
  async announce(deps, row, before) {
    const isNew = before === undefined
    const connections = isNew ? [] : await connectionsOf(deps.db, 'destination_id', row.id)
    const sources = new Set(connections.map(({ sourceId }) => sourceId))
    // Ingest keeps the number of attempts of each connection's destination with the source.
    await announceChanges(deps, [
      { kind: 'destination', id: row.id },
      ...[...sources].map((id) => ({ kind: 'source' as const, id })),
    ])
    // Deliveries of a busy destination may be due, once the workers know the change.
    if (isResumedNow(row)) wakeWorkers(deps.nats)
  },
}

/** A new `url` or `auth`, or enabling it, ends its busy window. */
function isResumedNow({ resumedAt, updatedAt }: Destination): boolean {
  return resumedAt?.getTime() === updatedAt.getTime()
}

/** A connector of another project is as absent as one that does not exist. */
async function checkConnector(
  tx: Db,
  { connectorId, organisationId, projectId }: Destination,
  part: string,
): Promise<void> {
  if (connectorId === null) return
  const found = await findConnector(tx, { organisationId, projectId }, connectorId)
  if (found === undefined) {
    refuseField(`${part}.connectorId`, 'Expected the id of a connector of the same project')
  }
}
