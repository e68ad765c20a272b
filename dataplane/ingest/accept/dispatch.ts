import type { NewEvent } from '../../../core/db/events/ingest/store-events.ts'
import { uuidOfBytes } from '../../../core/ids.ts'
import { encodeDelivery, encodeEvent } from '../../../core/jetstream/delivery-message.ts'
import { deliverySubject } from '../../../core/jetstream/stream-subjects.ts'
import type { IngestTraces } from '../trace/ingest-traces.ts'
import type { Publisher } from './publisher.ts'

/** Sends a stored event's deliveries to the workers. The sweeper takes deliveries that do not arrive. */
export function dispatch(
  { publisher, traces }: { publisher: Publisher; traces: IngestTraces | undefined },
  event: NewEvent,
): void {
  if (event.deliveries.length === 0) return
  const published = traces?.publishing(event)
  const encoded = encodeEvent(
    {
      id: uuidOfBytes(event.id),
      class: event.retentionClass,
      organisationId: event.organisationId,
      projectId: event.projectId,
      sourceId: event.sourceId,
      sourceName: event.sourceName,
      verifiedWith: event.verifiedWith,
      remoteIp: event.remoteIp,
      headers: event.headers,
    },
    event.raw,
  )
  for (const delivery of event.deliveries) {
    const message = encodeDelivery(encoded, {
      id: uuidOfBytes(delivery.id),
      connectionId: delivery.connectionId,
      destinationId: delivery.destinationId,
      partition: delivery.partition,
      maxAttempts: delivery.maxAttempts,
      leaseUntilMs: event.leaseUntilMs,
    })
    publisher.publish(deliverySubject(delivery.partition), message, published)
  }
}
