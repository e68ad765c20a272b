import { connectionsOf } from '../../core/db/configuration/connections.ts'
import { deleteDestination } from '../../core/db/configuration/destinations.ts'
import {
  deleteConnector,
  destinationsThrough,
  setEnrollment,
  type Connector,
  type SeenConnector,
} from '../../core/db/connectors/connectors.ts'
import {
  cancellationForDestination,
  addPendingCancellations,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { makeSecret } from '../../core/keys/secret-text.ts'
import { noticeConnectors } from '../../core/notices/connector-notices.ts'
import { demand, type Access } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import type { Call } from '../http/route.ts'
import { changed } from '../writes/changed.ts'
import { createResource, demandResource, note, writeResource } from '../writes/write-resource.ts'
import { CONNECTOR } from './resource.ts'
import type { ConnectorChanges } from './shape.ts'

/** Who asks for what. */
interface Asked extends Access {
  deps: Deps
}

/** Said where somebody asks for what needs a gateway. (spec: Codes, BAD_REQUEST) */
export function refuseWithoutGateway(
  { gatewayUrl }: Pick<Deps, 'gatewayUrl'>,
  path: string,
): string {
  return gatewayUrl ?? refuseField(path, 'private delivery is not configured on this deployment')
}

/** A connector that nobody has said anything of, with the text of its enrolment key. */
export function newConnector(
  { keyPrefix, clock }: Pick<Deps, 'keyPrefix' | 'clock'>,
  given: Pick<Connector, 'organisationId' | 'projectId' | 'name'>,
): { row: SeenConnector; enrollmentKey: string } {
  const { text, hash } = makeSecret(keyPrefix, 'enr')
  const now = new Date(clock.now())
  const row = {
    organisationId: given.organisationId,
    projectId: given.projectId,
    name: given.name,
    id: newId(now.getTime()),
    isDisabled: false,
    provisionedAt: null,
    allowedHosts: [],
    enrollmentHash: hash,
    metadata: {},
    onlineReplicas: 0,
    lastSeenAt: null,
    createdAt: now,
    updatedAt: now,
  }
  return { row, enrollmentKey: text }
}

/** The connector with its changes; null puts a member back to its default. */
export function changeConnector(
  before: SeenConnector,
  { name, allowedHosts, metadata }: ConnectorChanges,
  now: Date,
): SeenConnector {
  return {
    ...before,
    name: name ?? before.name,
    allowedHosts: changed(allowedHosts, before.allowedHosts, []),
    metadata: changed(metadata, before.metadata, {}),
    updatedAt: now,
  }
}

export async function createConnector(
  call: Asked,
  body: ConnectorChanges & { name: string },
): Promise<{ row: SeenConnector; enrollmentKey: string }> {
  const { deps, principal, project } = call
  refuseWithoutGateway(deps, 'body')
  const { organisationId } = principal
  const made = newConnector(deps, { organisationId, projectId: project(), name: body.name })
  const row = changeConnector(made.row, body, made.row.createdAt)
  await createResource(call, CONNECTOR, row.name, { row, shown: body })
  return { row, enrollmentKey: made.enrollmentKey }
}

/** Changes a connector that is there, and has gateways look at it. */
export async function writeConnector(
  call: Call<{ id: string }>,
  verb: 'update' | 'toggle',
  changes: ConnectorChanges & { isDisabled?: boolean },
): Promise<SeenConnector> {
  const { isDisabled, ...others } = changes
  const wish = { verb, name: changes.name }
  const { row } = await writeResource(call, CONNECTOR, wish, (found, now) => ({
    row: {
      ...changeConnector(found, others, now),
      isDisabled: isDisabled ?? found.isDisabled,
    },
    shown: changes,
  }))
  return row
}

/** The one before is good no more; replicas that have enrolled go on. */
export async function regenerateEnrollment({
  deps,
  principal,
  reach,
  id,
}: Asked & { id: string }): Promise<string> {
  const { text, hash } = makeSecret(deps.keyPrefix, 'enr')
  await deps.db.transaction().execute(async (tx) => {
    const found = await demandResource(tx, CONNECTOR, reach, id)
    await setEnrollment(tx, id, { hash, now: new Date(deps.clock.now()) })
    await note(tx, { deps, principal }, CONNECTOR, {
      verb: 'regenerate-enrollment',
      row: found,
      shown: {},
    })
  })
  return text
}

/** The rows that went with a connector, for processes that keep them in memory. */
export interface Removed {
  destinationIds: string[]
  sourceIds: string[]
}

export async function removeConnector(
  { deps, principal, reach, id }: Asked & { id: string },
  isCascade: boolean,
): Promise<Removed> {
  const removed = await deps.db.transaction().execute(async (tx) => {
    const found = await demandResource(tx, CONNECTOR, reach, id)
    if (found.provisionedAt === null) {
      refuse('CONNECTOR_PROVISIONING', 'Cannot delete connector: it is being provisioned')
    }
    const destinations = await destinationsThrough(tx, id)
    if (destinations.length > 0) {
      if (!isCascade) {
        refuse(
          'CONFLICT',
          `Cannot delete connector: ${destinations.length} destinations use it (cascade=true deletes them)`,
        )
      }
      demand(principal, { resource: 'destinations', level: 'write', isExplicit: true })
    }
    const connections = []
    for (const destination of destinations) {
      connections.push(...(await connectionsOf(tx, 'destination_id', destination.id)))
    }
    if (connections.length > 0) {
      demand(principal, { resource: 'connections', level: 'write', isExplicit: true })
    }
    const now = new Date(deps.clock.now())
    const destinationIds = destinations.map((destination) => destination.id)
    await addPendingCancellations(tx, destinationIds.map(cancellationForDestination), now)
    for (const destinationId of destinationIds) await deleteDestination(tx, destinationId)
    await deleteConnector(tx, id, now)
    const shown = { name: found.name, destinations: destinations.map(({ name }) => name) }
    await note(tx, { deps, principal }, CONNECTOR, { verb: 'delete', row: found, shown })
    return { destinationIds, sourceIds: connections.map(({ sourceId }) => sourceId) }
  })
  noticeConnectors(deps.nats, [id])
  return removed
}
