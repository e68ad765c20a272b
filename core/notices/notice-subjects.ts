/** Changes of configuration; every ingest process and worker listens and answers. */
export const CONFIG_CHANGED = 'config.changed'

/** Rows became due now (a replay, a manual retry): workers look at once instead of at their next tick. */
export const WAITING_DUE = 'waiting.due'

/** An operation was made: the housekeeper begins with it at once instead of at its next tick. */
export const OPERATION_DUE = 'operation.due'

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
