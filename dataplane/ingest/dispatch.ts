import type { NewEvent } from '../../core/db/events/store-events.ts'
import { uuidOfBytes } from '../../core/ids.ts'
import { encodeDelivery, encodeEvent } from '../../core/stream/delivery-message.ts'
import { deliverySubject } from '../../core/stream/subjects.ts'
import type { Publisher } from './publisher.ts'

/** Of each delivery of the event, in the same order. */
interface Target {
  partition: number
}

/** Sends a stored event's deliveries to the workers. What does not arrive is the sweeper's. */
export function dispatch(
  publisher: Publisher,
  event: NewEvent,
  { sourceName, targets }: { sourceName: string; targets: readonly Target[] },
): void {
  if (event.deliveries.length === 0) return
  const encoded = encodeEvent(
    {
      id: uuidOfBytes(event.id),
      class: event.class,
      organisationId: event.organisationId,
      projectId: event.projectId,
      sourceId: event.sourceId,
      sourceName,
      verifiedWith: event.verifiedWith,
      remoteIp: event.remoteIp,
      headers: event.headers,
    },
    event.raw,
  )
  event.deliveries.forEach((delivery, index) => {
    const target = targets[index]
    if (target === undefined) return
    const message = encodeDelivery(encoded, {
      id: uuidOfBytes(delivery.id),
      connectionId: delivery.connectionId,
      destinationId: delivery.destinationId,
      partition: target.partition,
      maxAttempts: delivery.maxAttempts,
      leaseUntilMs: event.leaseUntilMs,
    })
    publisher.publish(deliverySubject(target.partition), message)
  })
}
