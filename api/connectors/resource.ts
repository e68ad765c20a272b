import { lockOrganisation } from '../../core/db/configuration/organisations.ts'
import type { Db } from '../../core/db/connection/db.ts'
import {
  CONNECTOR_NAME_TAKEN,
  countConnectors,
  findConnector,
  insertConnector,
  updateConnector,
  type Connector,
  type SeenConnector,
} from '../../core/db/connectors/connectors.ts'
import { refuse } from '../../core/errors.ts'
import { noticeConnectors } from '../../core/notices/connector-notices.ts'
import { entitlementsFor } from '../billing/standing.ts'
import type { Deps } from '../deps.ts'
import type { Resource } from '../writes/write-resource.ts'

export const CONNECTOR: Resource<SeenConnector> = {
  kind: 'connector',
  prefix: 'cnr',
  nameTaken: CONNECTOR_NAME_TAKEN,
  find: async (tx, reach, id) => await findConnector(tx, reach, id, { lock: true }),
  insert: async (tx, row, deps) => await insertWithinLimit(tx, deps, row),
  update: updateConnector,
  projectIdOf: (row) => row.projectId,
  announce: async ({ nats }, { id }) => await Promise.resolve(noticeConnectors(nats, [id])),
}

/** Inserts it unless the plan's connectors are used up: exactly, for every create of the organisation waits here. */
async function insertWithinLimit(tx: Db, deps: Deps, row: Connector): Promise<void> {
  await lockOrganisation(tx, row.organisationId)
  const { connectors: limit } = await entitlementsFor(deps, tx, row.organisationId)
  const current = await countConnectors(tx, row.organisationId)
  if (limit !== null && current >= limit) {
    const message = `Cannot create connector: the plan has ${limit}, and ${current} exist`
    refuse('CONNECTOR_LIMIT_REACHED', message, { limit, current })
  }
  await insertConnector(tx, row)
}
