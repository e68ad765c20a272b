import { bytesOfUuid } from '../ids.ts'
import { PARTITION_SPREAD, PARTITIONS } from '../limits.ts'

export const DELIVERY_STREAM = 'DELIVERIES'
export const DELIVERY_SUBJECTS = 'dl.*'

/** Subject of no partition: a message stored there proves that the server stores, and is removed. */
export const DELIVERY_PROBE = 'dl.probe'

/** Events that were accepted while PostgreSQL was away; and those of them that it refused afterwards. */
export const SPOOL_STREAM = 'SPOOL'
export const SPOOL_SUBJECTS = 'spool.*'
export const SPOOL_EVENTS = 'spool.events'
export const SPOOL_REFUSED = 'spool.refused'

/** Changes of configuration; every ingest process and worker listens and answers. */
export const CONFIG_CHANGED = 'config.changed'

/** Rows became due now (a replay, a manual retry): workers look at once instead of at their next tick. */
export const WAITING_DUE = 'waiting.due'

/** Ingest processes write at once how often each secret of a rotation has verified a request, and answer. */
export const SECRET_USAGE_WANTED = 'secret-usage.wanted'

/** A worker came, went or let go of partitions: the others look at once what is theirs now. */
export const PARTITIONS_FREE = 'partitions.free'

/** Deliveries that no worker may begin to send any more; every worker answers. */
export const WITHDRAW = 'deliveries.withdraw'

/** A test delivery, for one of the workers. */
export const TEST_DELIVERY = 'deliveries.test'

/** Counts of accepted requests that ingest processes tell each other. */
export const INGEST_COUNTS = 'ingest.counts'

/** Connectors were made, changed or deleted: every gateway looks what holds now. */
export const CONNECTORS_CHANGED = 'connectors.changed'

/** A connector has a session again: workers send what waits for it. */
export const CONNECTOR_ONLINE = 'connectors.online'

/** Gateways say that they live. */
export const GATEWAY_LIVES = 'gateways.alive'

/** Events of a project were stored: whoever shows them live looks at once instead of at its next tick. */
export function eventsStoredSubject(projectId: string): string {
  return `events.stored.${projectId}`
}

export function deliverySubject(partition: number): string {
  return `dl.${partition}`
}

/** The durable consumer of a partition. */
export function deliveryConsumer(partition: number): string {
  return `partition-${partition}`
}

/**
 * The partition of a delivery: one for an organisation under plan pacing, so that both pacing scopes live in one
 * memory; spread by destination over a few neighbours where there is no plan pacing. (architecture: Delivery)
 */
export function partitionOf(
  organisationId: string,
  destinationId: string,
  isPaced: boolean,
): number {
  const home = tailOf(organisationId) % PARTITIONS
  if (isPaced) return home
  return home - (home % PARTITION_SPREAD) + (tailOf(destinationId) % PARTITION_SPREAD)
}

/**
 * The last byte of a UUIDv7 is random, hence evenly spread over what divides 256. With more of them V8 keeps some
 * partitions as floating-point numbers, and compiles what dispatches to them again and again.
 */
function tailOf(id: string): number {
  return bytesOfUuid(id).readUInt8(15)
}
