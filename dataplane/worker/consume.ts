import { jetstream, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream'

import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/log.ts'
import { decodeDelivery, type DeliveryMessage } from '../../core/stream/delivery-message.ts'
import type { NatsConnection } from '../../core/stream/nats.ts'
import { DELIVERY_CONSUMER, DELIVERY_STREAM } from '../../core/stream/subjects.ts'
import type { Results } from './results.ts'
import { workOfMessage, type Work } from './work.ts'

/** Messages the client asks for ahead. */
const PULL_AHEAD = 1_000

/** Work in memory past which no message is taken: lanes and writes catch up first. */
const HELD_MAX = 8_192

/** With less of the lease left than this, the row is claimed before the attempt: the sweeper may be near. */
const LEASE_REST_MS = 3_000

const PAUSE_MS = 5

export interface ConsumeDeps {
  nats: NatsConnection
  clock: Clock
  log: Logger
  results: Results
  /** Work in memory now. */
  held(): number
  admit(work: Work): void
  /** The body of an event that was too large for the message. */
  readBody(eventClass: number, eventId: string): Promise<Buffer | undefined>
}

/** Takes deliveries from the stream until aborted. */
export async function consumeDeliveries(deps: ConsumeDeps, signal: AbortSignal): Promise<void> {
  const consumer = await jetstream(deps.nats).consumers.get(DELIVERY_STREAM, DELIVERY_CONSUMER)
  const messages = await consumer.consume({
    max_messages: PULL_AHEAD,
    abort_on_missing_resource: true,
  })
  const stop = (): void => messages.stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await takeAll(deps, messages)
  } finally {
    signal.removeEventListener('abort', stop)
    await messages.close()
  }
}

async function takeAll(deps: ConsumeDeps, messages: ConsumerMessages): Promise<void> {
  for await (const message of messages) {
    take(deps, message)
    while (deps.held() + deps.results.backlog() > HELD_MAX) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

function take(deps: ConsumeDeps, message: JsMsg): void {
  const decoded = decode(deps, message)
  if (decoded === undefined) return
  const { delivery, event } = decoded
  const isLate = delivery.leaseUntilMs - deps.clock.now() < LEASE_REST_MS
  if (!message.redelivered && !isLate && event.hasBody) {
    deps.admit(workOfMessage(decoded, message))
    return
  }
  void complete(deps, message, decoded, message.redelivered || isLate)
}

/** The slow way in: a delivery that must be claimed first, or whose body is still in the row. */
async function complete(
  deps: ConsumeDeps,
  message: JsMsg,
  decoded: DeliveryMessage,
  mustClaim: boolean,
): Promise<void> {
  const { event, delivery } = decoded
  try {
    if (mustClaim) {
      const { isOurs } = await deps.results.claim({
        class: event.class,
        deliveryId: delivery.id,
        leaseUntilMs: delivery.leaseUntilMs,
      })
      if (!isOurs) {
        message.ack()
        return
      }
    }
    const body = event.hasBody ? decoded.body : await deps.readBody(event.class, event.id)
    if (body === undefined) message.ack()
    else deps.admit(workOfMessage({ ...decoded, body }, message))
  } catch (err) {
    // Not acknowledged: the stream sends it again, or the sweeper finds the row.
    deps.log.warn({ err, deliveryId: delivery.id }, 'Cannot prepare a delivery')
  }
}

function decode(deps: ConsumeDeps, message: JsMsg): DeliveryMessage | undefined {
  try {
    return decodeDelivery(message.data)
  } catch (err) {
    deps.log.error({ err, subject: message.subject }, 'Dropped a message that is not a delivery')
    message.term()
    return undefined
  }
}
