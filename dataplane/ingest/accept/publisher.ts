import type { Msg, Subscription } from '@nats-io/transport-node'

import { packDeliveries } from '../../../core/jetstream/delivery-message.ts'
import { isConnected, type NatsConnection } from '../../../core/nats.ts'
import type { Published } from '../trace/ingest-traces.ts'

/** Messages whose acknowledgement is awaited. The server queues what it cannot store in time without any bound. */
const WINDOW = 1_024

/** Messages waiting for a place in the window: a few hundred milliseconds of the highest load. */
const QUEUE_MAX = 8_192

/** Bytes pending and queued: a few large bodies fill memory. */
const BYTES_MAX = 64 * 1024 * 1024

/** Deliveries and bytes of a message: far below NATS' limit, and few deliveries come again when one is given back. */
const PACK_MAX = 64
const PACK_BYTES_MAX = 128 * 1024

/** An acknowledgement that has not come by then will not come: NATS was restarted. */
const ACK_TIMEOUT_MS = 5_000

/** Deliveries of one partition, encoded. */
interface Pack {
  deliveries: Buffer[]
  bytes: number
  /** Who wants to know what became of deliveries in it; undefined when nobody does. */
  told: Published[] | undefined
}

interface Message {
  subject: string
  data: Buffer
  /** Deliveries in it. */
  count: number
  told: Published[] | undefined
}

/** A message whose acknowledgement is awaited. */
interface Pending {
  sentAt: number
  bytes: number
  count: number
  told: Published[] | undefined
}

/**
 * Publishes deliveries to JetStream, in one message those of one subject that come in one turn of the loop, hence of one
 * batch. All acknowledgements come to one inbox (4 us a message, against 18 for the client's own publish call). Nothing is
 * tried twice: the row is stored, and what is not acknowledged is the sweeper's.
 */
export class Publisher {
  readonly #nats: NatsConnection
  readonly #inbox: string
  readonly #acks: Subscription
  readonly #packs = new Map<string, Pack>()
  /** Messages that are not acknowledged, and those that wait for a place in the window. */
  readonly #pending = new Map<number, Pending>()
  readonly #queue: Message[] = []
  readonly #expiry: NodeJS.Timeout
  #next = 0
  /** Bytes pending and queued. */
  #bytes = 0
  /** Deliveries given up: left to the sweeper. */
  dropped = 0

  constructor(nats: NatsConnection) {
    this.#nats = nats
    this.#inbox = `_INBOX.${crypto.randomUUID()}`
    this.#acks = nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#acknowledge(message)
      },
    })
    this.#expiry = setInterval(() => this.#expire(), ACK_TIMEOUT_MS / 5).unref()
  }

  /** Sends an encoded delivery when this turn of the loop ends, or its message is full. */
  publish(subject: string, delivery: Buffer, published?: Published): void {
    let pack = this.#packs.get(subject)
    if (pack !== undefined && pack.bytes + delivery.length > PACK_BYTES_MAX) {
      this.#flush(subject, pack)
      pack = undefined
    }
    if (pack === undefined) {
      // Ticks come after all that the settling of a batch has set off: the deliveries of its other events.
      if (this.#packs.size === 0) process.nextTick(() => this.#flushAll())
      pack = { deliveries: [], bytes: 0, told: undefined }
      this.#packs.set(subject, pack)
    }
    pack.deliveries.push(delivery)
    pack.bytes += delivery.length
    if (published !== undefined) (pack.told ??= []).push(published)
    if (pack.deliveries.length === PACK_MAX) this.#flush(subject, pack)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#expiry)
    this.#acks.unsubscribe()
  }

  #flushAll(): void {
    for (const [subject, pack] of this.#packs) this.#flush(subject, pack)
  }

  #flush(subject: string, { deliveries, told }: Pack): void {
    this.#packs.delete(subject)
    const count = deliveries.length
    const data = packDeliveries(deliveries)
    const isFull = this.#queue.length >= QUEUE_MAX || this.#bytes + data.length > BYTES_MAX
    // While disconnected the client would keep messages in memory without bound, to send them when they are stale.
    if (!isConnected(this.#nats) || isFull) {
      this.#drop({ count, told })
      return
    }
    this.#bytes += data.length
    if (this.#pending.size >= WINDOW) this.#queue.push({ subject, data, count, told })
    else this.#send({ subject, data, count, told })
  }

  #send({ subject, data, count, told }: Message): void {
    const sequence = this.#next++
    this.#pending.set(sequence, { sentAt: performance.now(), bytes: data.length, count, told })
    this.#nats.publish(subject, data, { reply: `${this.#inbox}.${sequence}` })
  }

  #acknowledge(message: Msg): void {
    const settled = this.#settle(Number(message.subject.slice(this.#inbox.length + 1)))
    // Without a body the server says that no stream takes it.
    const isRefused = message.data.length === 0 || message.data[2] === 0x65 /* {"error" */
    if (isRefused) this.#drop(settled)
    else tell(settled?.told, true)
    this.#drain()
  }

  /** Returns the message, unless it was settled before. */
  #settle(sequence: number): Pending | undefined {
    const pending = this.#pending.get(sequence)
    this.#bytes -= pending?.bytes ?? 0
    this.#pending.delete(sequence)
    return pending
  }

  #drop(message: Pick<Pending, 'count' | 'told'> | undefined): void {
    this.dropped += message?.count ?? 0
    tell(message?.told, false)
  }

  #drain(): void {
    while (this.#pending.size < WINDOW) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#send(next)
    }
  }

  #expire(): void {
    const oldest = performance.now() - ACK_TIMEOUT_MS
    for (const [sequence, { sentAt }] of this.#pending) {
      if (sentAt > oldest) break
      this.#drop(this.#settle(sequence))
    }
    this.#drain()
  }
}

function tell(told: readonly Published[] | undefined, isAcked: boolean): void {
  if (told !== undefined) for (const published of told) published(isAcked)
}
