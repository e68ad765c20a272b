import { setTimeout as sleep } from 'node:timers/promises'

import { errors, type Msg, type Subscription } from '@nats-io/transport-node'

import { encodeId } from '../../core/ids.ts'
import type { Logger } from '../../core/log.ts'
import { connectedMs, endSubscription, isConnected, type NatsConnection } from '../../core/nats.ts'
import { openHop, type Hop } from '../../core/tracing/hop.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import {
  callSubject,
  decodeCall,
  encodeAsked,
  encodeReply,
  type CallHead,
  type Reply,
} from '../../core/tunnel/call.ts'
import type { Choosable, Sessions } from './sessions/sessions.ts'
import type { Outcome } from './streams/streams.ts'

interface CallsDeps {
  nats: NatsConnection
  log: Logger
  sessions: Sessions<Choosable>
  /** As workers know it: another one after a restart, which has none of the calls of the one before. */
  gatewayName: string
  count(outcome: Outcome['kind']): void
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

const QUEUE = 'gateways'
const PIECE_TIMEOUT_MS = 5_000
/** Most calls are answered sooner, and need no word that somebody has them. Workers wait for it much longer. */
const ACCEPTED_AFTER_MS = 100
/** The agent's own time-out comes first and says more. */
const GRACE_MS = 1_000
/** How long an answer is kept while NATS is away, and until the worker has reconnected as well. */
const REPLY_PATIENCE_MS = 10_000
const BOTH_BACK_MS = 500
const REPLY_LOOK_MS = 50

/**
 * Answers the calls of workers for the connectors that have a session here: one subscription each, so that a call to a
 * connector that is nowhere finds nobody, at once.
 */
export class Calls {
  readonly #deps: CallsDeps
  readonly #subscriptions = new Map<string, Subscription>()

  constructor(deps: CallsDeps) {
    this.#deps = deps
  }

  /** To be called when a connector's sessions changed: subscribes to its calls, or stops. Whether it came online here. */
  follow(connectorId: string): boolean {
    const { sessions, nats } = this.#deps
    const known = this.#subscriptions.get(connectorId)
    const isOnline = sessions.isOnline(connectorId)
    if (isOnline && known === undefined) {
      const subscription = nats.subscribe(callSubject(connectorId), {
        queue: QUEUE,
        callback: (error, message) => {
          if (error === null) void this.#answer(message)
        },
      })
      this.#subscriptions.set(connectorId, subscription)
      return true
    }
    if (!isOnline && known !== undefined) {
      this.#subscriptions.delete(connectorId)
      // Calls on the wire are answered still: they find no session and go to another gateway.
      void endSubscription(nats, known)
    }
    return false
  }

  /** Resolves when no call can come any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    const known = [...this.#subscriptions.values()]
    this.#subscriptions.clear()
    await Promise.all(known.map(async (each) => await endSubscription(this.#deps.nats, each)))
  }

  async #answer(message: Msg): Promise<void> {
    const { nats, sessions, gatewayName, log, tracing } = this.#deps
    const call = decodeCall(message.data)
    const respond = (reply: Reply, body?: Uint8Array): void => {
      if (isConnected(nats)) message.respond(encodeReply(reply, body))
    }
    // A worker of another version speaks: it hears nobody and counts the connector as offline.
    if (call === undefined) return log.warn('Dropped an unreadable call')
    const { connectorId, request } = call.head
    const session = sessions.pick(connectorId)
    if (session?.streams.fits(call.piece.length) !== true) {
      return respond({ kind: 'unsent', isFull: sessions.isOnline(connectorId) })
    }
    const accept = (): void => respond({ kind: 'accepted', gateway: gatewayName })
    const accepting = setTimeout(accept, ACCEPTED_AFTER_MS)
    const giveUp = new AbortController()
    const patience = setTimeout(() => giveUp.abort(), request.timeoutMs + GRACE_MS)
    const body = this.#bodyOf(call.head, call.piece, message.reply ?? '')
    const { replicaId } = session.owner
    const hop = openHop(tracing, { name: 'gateway', kind: 'server' }, request)
    const outcome = await session.streams.send(hop?.head ?? request, body, giveUp.signal)
    clearTimeout(accepting)
    clearTimeout(patience)
    hop?.end(spanOf(outcome, { connectorId, replicaId }))
    this.#deps.count(outcome.kind)
    await this.#untilHeard()
    respond(replyOf(outcome, replicaId), outcome.kind === 'response' ? outcome.body : undefined)
  }

  /** A reply that is sent while NATS is away, or before the worker is back too, is lost, and its delivery made twice. */
  async #untilHeard(): Promise<void> {
    const { nats } = this.#deps
    const giveUpAt = performance.now() + REPLY_PATIENCE_MS
    const isHeard = (): boolean => isConnected(nats) && connectedMs(nats) >= BOTH_BACK_MS
    while (!isHeard() && performance.now() < giveUpAt) await sleep(REPLY_LOOK_MS)
  }

  /** The first piece, then those that the worker is asked for. Throws when the worker does not answer. */
  async *#bodyOf(
    { request }: CallHead,
    first: Uint8Array,
    worker: string,
  ): AsyncGenerator<Uint8Array, void> {
    let offset = first.length
    if (offset > 0) yield first
    while (offset < request.bodyBytes) {
      const piece = await this.#ask(`${worker}.body`, offset)
      offset += piece.length
      yield piece
    }
  }

  async #ask(subject: string, offset: number): Promise<Uint8Array> {
    try {
      const options = { timeout: PIECE_TIMEOUT_MS }
      const { data } = await this.#deps.nats.request(subject, encodeAsked(offset), options)
      if (data.length > 0) return data
    } catch (error) {
      if (!(error instanceof errors.TimeoutError) && !(error instanceof errors.RequestError))
        throw error
    }
    throw new Error('The worker does not give the body')
  }
}

function spanOf(
  outcome: Outcome,
  { connectorId, replicaId }: { connectorId: string; replicaId: string },
): Parameters<Hop['end']>[0] {
  const isAnswered = outcome.kind === 'response'
  const fault = outcome.kind === 'failure' ? outcome.failure.code : outcome.kind
  return {
    fault: isAnswered ? undefined : fault,
    attributes: {
      'http.response.status_code': isAnswered ? outcome.head.status : undefined,
      'error.type': isAnswered ? undefined : fault,
      'postern.connector.id': encodeId('cnr', connectorId),
      'postern.replica.id': encodeId('rpl', replicaId),
    },
  }
}

function replyOf(outcome: Outcome, replicaId: string): Reply {
  switch (outcome.kind) {
    case 'response':
      return { kind: 'response', replicaId, head: outcome.head }
    case 'failure':
      return { kind: 'failure', replicaId, failure: outcome.failure }
    case 'unsent':
      return { kind: 'unsent', isFull: false }
    // The agent did not even say that its time was up.
    case 'cancelled':
      return { kind: 'silent', replicaId }
    case 'lost':
      return { kind: 'lost', replicaId }
  }
}
