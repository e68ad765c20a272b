import { jetstream, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream'

import type { Clock } from '../../core/clock.ts'
import { LEASE_MS } from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import { decodeDelivery, type DeliveryMessage } from '../../core/stream/delivery-message.ts'
import { connectedMs, type NatsConnection } from '../../core/stream/nats.ts'
import { DELIVERY_CONSUMER, DELIVERY_STREAM } from '../../core/stream/subjects.ts'
import type { Results } from './results.ts'
import { workOfMessage, type Work } from './work.ts'

/** Messages the client asks for ahead. */
const PULL_AHEAD = 1_000

/** Work in memory past which no message is taken: lanes and writes catch up first. */
const HELD_MAX = 8_192

/** With less of the lease left than this, the row is claimed before the attempt: the sweeper may be near. */
const LEASE_REST_MS = 7_000

/** The clocks of ingest, which dates messages, and of a worker may differ by this much. */
const CLOCKS_MS = 1_000

const PAUSE_MS = 5

interface Lease {
  untilMs: number
  isOrphan: boolean
}

/** The messages of the work in hand by delivery id, each the newest one that names it. */
export type InHand = Map<string, JsMsg>

export interface ConsumeDeps {
  nats: NatsConnection
  clock: Clock
  log: Logger
  results: Results
  /** Kept from one consumption to the next. */
  inHand: InHand
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
  if (signal.aborted) stop()
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

/**
 * A server that was killed has forgotten what it delivered and the acknowledgements of its last moments. It sends
 * again what does not look redelivered: what is still in hand is passed over, what may be finished is claimed first.
 */
function take(deps: ConsumeDeps, message: JsMsg): void {
  const decoded = decode(deps, message)
  if (decoded === undefined) return
  const { delivery, event } = decoded
  if (message.redelivered) {
    deps.inHand.delete(delivery.id)
  } else if (deps.inHand.has(delivery.id)) {
    deps.inHand.set(delivery.id, message)
    return
  }
  const leaseRestMs = delivery.leaseUntilMs - deps.clock.now()
  const isOlderThanConnection = LEASE_MS - leaseRestMs > connectedMs(deps.nats) - CLOCKS_MS
  const mustClaim = message.redelivered || leaseRestMs < LEASE_REST_MS || isOlderThanConnection
  if (!mustClaim && event.hasBody) admit(deps, message, decoded, published(decoded))
  else void complete(deps, message, decoded, mustClaim)
}

/** A message names the lease that it was published under. */
function published({ delivery }: DeliveryMessage): Lease {
  return { untilMs: delivery.leaseUntilMs, isOrphan: false }
}

function admit(deps: ConsumeDeps, message: JsMsg, decoded: DeliveryMessage, lease: Lease): void {
  const { inHand } = deps
  const { id } = decoded.delivery
  const takeNewest = (): JsMsg => {
    const newest = inHand.get(id) ?? message
    inHand.delete(id)
    return newest
  }
  inHand.set(id, message)
  const origin = { ack: () => takeNewest().ack(), nak: () => takeNewest().nak() }
  deps.admit(workOfMessage(decoded, lease, origin))
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
    let lease = published(decoded)
    if (mustClaim) {
      const claimed = await deps.results.claim({
        class: event.class,
        deliveryId: delivery.id,
        leaseUntilMs: delivery.leaseUntilMs,
      })
      if (!claimed.isOurs) {
        message.ack()
        return
      }
      lease = claimed
    }
    const body = event.hasBody ? decoded.body : await deps.readBody(event.class, event.id)
    if (body === undefined) message.ack()
    else admit(deps, message, { ...decoded, body }, lease)
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
