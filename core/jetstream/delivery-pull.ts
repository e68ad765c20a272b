import type { Msg, Subscription } from '@nats-io/transport-node'

import { PULL_BYTES_MAX } from '../limits.ts'
import { connectedMs, endSubscription, isConnected, type NatsConnection } from '../nats.ts'
import { deliveryConsumer, DELIVERY_STREAM } from './stream-subjects.ts'

/**
 * How long a request for messages stands. Without an answer by then, and a moment, the consumer is looked after. While nothing
 * comes each stands twice as long as the one before: 64 partitions that ask every 6 s cost a server and a worker half a percent
 * of a core. Not in a cluster, where a request is lost without a word when the consumer's server dies.
 */
const EXPIRES_MS = 6_000
const EXPIRES_IDLE_MS = 24_000
const ANSWER_MS = 1_500

/**
 * A server that reports a missing consumer may still be deleting its stream. A stream created in that moment shares the
 * old files: one time in ten (NATS 2.9) it accepts no message, or its consumer gives none.
 */
const GONE_MS = 1_500

/**
 * A partition that has used up most of what it asked for within this time asks for twice as many, up to a limit: with 16
 * at a time a busy one waits for the server more than it sends (1,756 deliveries/s instead of 2,400, measured).
 */
const BRISK_MS = 1_000
const AHEAD_MAX = 256

/** A message of the stream, to be answered once. */
export interface StreamMessage {
  subject: string
  data: Uint8Array
  /** It was delivered before. */
  redelivered: boolean
  ack: () => void
  /** Back to the stream: its consumer gets it again at once. */
  nak: () => void
  /** Never again. */
  term: () => void
}

export interface PullDeps {
  nats: NatsConnection
  partition: number
  /** Messages to ask for ahead while few come. */
  ahead(): number
  /** False while enough is in memory. */
  mayAsk(): boolean
  take(message: StreamMessage): void
  /** The consumer may not be there: to be made, then `resume` called. */
  onMissing(): void
}

/**
 * Messages of one partition, asked for ahead. The client's own loop leaves what is on the wire when it stops to the
 * acknowledgement's time-out; this one hands out everything that the server sent, and costs nothing while idle.
 */
export class DeliveryPull {
  readonly #deps: PullDeps
  readonly #inbox = `_INBOX.${crypto.randomUUID()}`
  readonly #request: string
  readonly #messages: Subscription
  /** Messages asked for that have not come. */
  #credit = 0
  /** Messages that are asked for ahead now. */
  #reach = 0
  #askedAt = 0
  #askedFor = 0
  #expiresMs = EXPIRES_MS
  /** No message has come since the last request. */
  #isIdle = false
  /** The next message is larger than `PULL_BYTES_MAX`: Postern publishes none such, but it must not block the others. */
  #isNextLarge = false
  #isMissing = true
  /** On the monotonic clock: since when the consumer has been there, and been the same. */
  #knownSince = performance.now()
  #isStopped = false

  constructor(deps: PullDeps) {
    this.#deps = deps
    this.#request = `$JS.API.CONSUMER.MSG.NEXT.${DELIVERY_STREAM}.${deliveryConsumer(deps.partition)}`
    this.#messages = deps.nats.subscribe(this.#inbox, {
      callback: (error, message) => {
        if (error === null) this.#receive(message)
      },
    })
    deps.onMissing()
  }

  /** To be called now and then: asks when it may again, and when the server cannot know of it any more. */
  look(): void {
    const sinceMs = performance.now() - this.#askedAt
    const isForgotten =
      sinceMs > this.#expiresMs + ANSWER_MS || sinceMs > connectedMs(this.#deps.nats)
    if (this.#credit > 0 && isForgotten && isConnected(this.#deps.nats)) this.#miss()
    else this.#ask()
  }

  /** The consumer is there, and has been since a moment on the monotonic clock. */
  resume(knownSince: number): void {
    this.#knownSince = knownSince
    this.#isMissing = false
    this.#isIdle = false
    this.#credit = 0
    this.#ask()
  }

  /**
   * For how long the server has known what this worker acknowledges, on this connection and of this consumer: what is
   * older may come again without looking redelivered.
   */
  get knownMs(): number {
    return Math.min(connectedMs(this.#deps.nats), performance.now() - this.#knownSince)
  }

  /** Resolves when nothing more can come; what came until then was handed out. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await endSubscription(this.#deps.nats, this.#messages)
  }

  #receive(message: Msg): void {
    if (message.subject === this.#inbox) {
      this.#note(message)
    } else {
      this.#credit = Math.max(0, this.#credit - 1)
      this.#isIdle = false
      this.#deps.take(streamMessageOf(this.#deps.nats, message))
    }
    this.#ask()
  }

  /** The end of a request, with or without messages left of it. */
  #note(message: Msg): void {
    const { headers } = message
    const left = Number(headers?.get('Nats-Pending-Messages') ?? '')
    this.#credit = left > 0 ? Math.max(0, this.#credit - left) : 0
    this.#isNextLarge = headers?.code === 409 && left === this.#askedFor
    const isGone = headers?.description.toLowerCase() === 'consumer deleted'
    if (headers?.code === 503 || headers?.code === 404 || isGone) this.#miss(GONE_MS)
  }

  /** The server may have come back without its store. */
  #miss(inMs = 0): void {
    if (this.#isMissing) return
    this.#isMissing = true
    this.#knownSince = performance.now()
    setTimeout(() => {
      if (!this.#isStopped) this.#deps.onMissing()
    }, inMs).unref()
  }

  #ask(): void {
    if (this.#isStopped || this.#isMissing) return
    const { nats } = this.#deps
    const least = this.#deps.ahead()
    this.#reach = Math.max(this.#reach, least)
    if (this.#credit > this.#reach / 4 || !this.#deps.mayAsk() || !isConnected(nats)) return
    const isBrisk = performance.now() - this.#askedAt < BRISK_MS
    this.#reach = isBrisk ? Math.min(this.#reach * 2, Math.max(AHEAD_MAX, least)) : least
    const batch = this.#isNextLarge ? 1 : this.#reach - this.#credit
    this.#credit += batch
    this.#askedFor = batch
    this.#askedAt = performance.now()
    const bound = this.#isNextLarge ? {} : { max_bytes: PULL_BYTES_MAX }
    this.#expiresMs = this.#isIdle ? Math.min(this.#expiresMs * 2, EXPIRES_IDLE_MS) : EXPIRES_MS
    this.#isIdle = nats.info?.cluster === undefined
    const request = { batch, ...bound, expires: this.#expiresMs * 1_000_000 }
    this.#isNextLarge = false
    nats.publish(this.#request, JSON.stringify(request), { reply: this.#inbox })
  }
}

/** Its answers do not keep its data in memory. */
function streamMessageOf(nats: NatsConnection, message: Msg): StreamMessage {
  const { reply = '' } = message
  let isAnswered = false
  const answer = (word: string): void => {
    if (!isAnswered) nats.publish(reply, word)
    isAnswered = true
  }
  return {
    subject: message.subject,
    data: message.data,
    redelivered: isRedelivered(reply),
    ack: () => answer('+ACK'),
    nak: () => answer('-NAK'),
    term: () => answer('+TERM'),
  }
}

/** `$JS.ACK.<stream>.<consumer>.<times delivered>...`; newer servers put a domain and an account before the stream. */
function isRedelivered(reply: string): boolean {
  const tokens = reply.split('.')
  return Number(tokens[tokens.length === 9 ? 4 : 6]) > 1
}
