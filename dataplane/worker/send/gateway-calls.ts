import type { Msg, Subscription } from '@nats-io/transport-node'

import { isConnected, type NatsConnection } from '../../../core/nats.ts'
import {
  callSubject,
  decodeAsked,
  decodeReply,
  encodeCall,
  PIECE_BYTES,
  type CallHead,
  type Reply,
} from '../../../core/tunnel/call.ts'
import { within } from '../../../core/within.ts'

/** The outcome of a call. */
export type CallOutcome =
  | { kind: 'response'; reply: Extract<Reply, { kind: 'response' }>; body: Buffer }
  | { kind: 'failure'; reply: Extract<Reply, { kind: 'failure' }> }
  | { kind: 'unsent'; isFull: boolean }
  | { kind: 'silent'; replicaId: string }
  | { kind: 'lost'; replicaId: string | null }
  /** No gateway has a session of the connector. */
  | { kind: 'offline' }

interface Call {
  body: Buffer
  timeoutMs: number
  acceptedBy: string | undefined
  timer: NodeJS.Timeout
  settle(outcome: CallOutcome): void
}

/** A gateway that does not even accept a call within this time is gone, or may still do what it was asked. */
const ACCEPT_MS = 2_000
/** Longer than the gateway's own patience with the agent. */
const GRACE_MS = 3_000
/** Time for reading what has come, before a call is given up. */
const READ_MS = 1_000
const NO_RESPONDERS = 503

/**
 * The worker's end of calls to gateways. All replies come to one inbox, as the acknowledgements of the publisher do: a
 * subscription for each call would cost more than the call.
 */
export class GatewayCalls {
  readonly #nats: NatsConnection
  readonly #inbox = `_INBOX.${crypto.randomUUID()}`
  readonly #replies: Subscription
  readonly #calls = new Map<string, Call>()
  #next = 0

  constructor(nats: NatsConnection) {
    this.#nats = nats
    this.#replies = nats.subscribe(`${this.#inbox}.>`, {
      callback: (error, message) => {
        if (error === null) this.#hear(message)
      },
    })
  }

  get inFlight(): number {
    return this.#calls.size
  }

  /** Resolves once. Never rejects. */
  async call(head: CallHead, body: Buffer): Promise<CallOutcome> {
    // A message published while disconnected would wait in memory and be sent when nobody wants it any more.
    if (!isConnected(this.#nats)) return { kind: 'unsent', isFull: false }
    const { promise, resolve } = Promise.withResolvers<CallOutcome>()
    const id = String(this.#next++)
    const call: Call = {
      body,
      timeoutMs: head.request.timeoutMs,
      acceptedBy: undefined,
      timer: setTimeout(() => void this.#giveUp(id, call), ACCEPT_MS),
      settle: resolve,
    }
    this.#calls.set(id, call)
    const reply = `${this.#inbox}.${id}`
    this.#nats.publish(callSubject(head.connectorId), encodeCall(head, body), { reply })
    return await promise.finally(() => clearTimeout(call.timer))
  }

  /** The gateways that have accepted calls of this worker. */
  accepting(): Set<string> {
    const names = new Set<string>()
    for (const { acceptedBy } of this.#calls.values()) if (acceptedBy) names.add(acceptedBy)
    return names
  }

  /** A gateway died: what it had accepted is lost. */
  forgetGateway(name: string): void {
    for (const [id, { acceptedBy }] of this.#calls) {
      if (acceptedBy === name) this.#settle(id, { kind: 'lost', replicaId: null })
    }
  }

  [Symbol.dispose](): void {
    this.#replies.unsubscribe()
    for (const id of this.#calls.keys()) this.#settle(id, { kind: 'lost', replicaId: null })
  }

  #hear(message: Msg): void {
    const [id = '', part] = message.subject.slice(this.#inbox.length + 1).split('.')
    const call = this.#calls.get(id)
    if (part === 'body') return this.#givePiece(message, call?.body)
    if (call === undefined) return
    if (message.headers?.code === NO_RESPONDERS) return this.#settle(id, { kind: 'offline' })
    const heard = decodeReply(message.data)
    if (heard === undefined) return
    const { reply, body } = heard
    if (reply.kind === 'accepted') this.#accept(id, call, reply.gateway)
    else if (reply.kind === 'response') this.#settle(id, { kind: 'response', reply, body })
    else if (reply.kind === 'failure') this.#settle(id, { kind: 'failure', reply })
    else this.#settle(id, reply)
  }

  #accept(id: string, call: Call, gateway: string): void {
    call.acceptedBy = gateway
    clearTimeout(call.timer)
    call.timer = setTimeout(() => void this.#giveUp(id, call), call.timeoutMs + GRACE_MS)
  }

  /**
   * Its time is over. After a pause of this process timers run before anything is read: a word of the gateway may have come
   * in time, and lies before the answer to a question that is asked now.
   */
  async #giveUp(id: string, call: Call): Promise<void> {
    const { timer } = call
    if (isConnected(this.#nats)) {
      // A connection that ends meanwhile brings no more words: the call is given up then.
      await within(READ_MS, this.#nats.flush(), () => undefined).catch(() => undefined)
    }
    const isUnheard = this.#calls.get(id) === call && call.timer === timer
    if (isUnheard) this.#settle(id, { kind: 'lost', replicaId: null })
  }

  #givePiece(message: Msg, body: Buffer | undefined): void {
    const offset = decodeAsked(message.data)
    if (body === undefined || offset === undefined || !isConnected(this.#nats)) return
    message.respond(body.subarray(offset, offset + PIECE_BYTES))
  }

  #settle(id: string, outcome: CallOutcome): void {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    call?.settle(outcome)
  }
}
