import type { z } from 'zod'

import {
  CONNECTION_NAME_TAKEN,
  findConnection,
  hasRoomFor,
  insertConnection,
  updateConnection,
  type Connection,
} from '../../core/db/configuration/connections.ts'
import { findDestination } from '../../core/db/configuration/destinations.ts'
import { findSource } from '../../core/db/configuration/sources.ts'
import type { Db } from '../../core/db/connection/db.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { refuseField } from '../../core/errors.ts'
import { encodeId } from '../../core/ids.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import type { Resource } from '../writes/write-resource.ts'
import type { ConnectionUpdate } from './shape.ts'

export const CONNECTION: Resource<Connection> = {
  kind: 'connection',
  prefix: 'con',
  nameTaken: CONNECTION_NAME_TAKEN,
  find: async (tx, reach, id) => await findConnection(tx, reach, id, { lock: true }),
  insert: insertConnection,
  update: updateConnection,
  projectIdOf: (row) => row.projectId,
  check: async (deps, tx, { row }) => await checkEnds(deps, tx, row),
  async announce(deps, row, before) {
    const sources = new Set([before?.sourceId ?? row.sourceId, row.sourceId])
    await announceChanges(
      deps,
      [...sources].map((id) => ({ kind: 'source', id })),
    )
  },
}

/**
 * Both ends are in the connection's own project; locked, so that neither is deleted under it. The source has room for it:
 * each of its events is matched with all its connections.
 */
async function checkEnds(
  { connectionsPerSource }: Pick<Deps, 'connectionsPerSource'>,
  tx: Db,
  row: Connection,
): Promise<void> {
  const reach: Reach = { organisationId: row.organisationId, projectId: row.projectId }
  const lock = { lock: true }
  if ((await findSource(tx, reach, row.sourceId, lock)) === undefined) {
    refuseMissing('src', row.sourceId)
  }
  if ((await findDestination(tx, reach, row.destinationId, lock)) === undefined) {
    refuseMissing('dst', row.destinationId)
  }
  if (!(await hasRoomFor(tx, row, connectionsPerSource))) {
    refuseField('body.sourceId', `This source has ${connectionsPerSource} connections, the most`)
  }
}

/** Ids leave as they came in. */
export function shownChanges(
  data: z.output<typeof ConnectionUpdate>['data'],
): Record<string, unknown> {
  const { sourceId, destinationId, ...rest } = data
  return {
    ...rest,
    ...(sourceId !== undefined && { sourceId: encodeId('src', sourceId) }),
    ...(destinationId !== undefined && { destinationId: encodeId('dst', destinationId) }),
  }
}
