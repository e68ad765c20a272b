import { AckPolicy, DeliverPolicy, ReplayPolicy, type JetStreamManager } from '@nats-io/jetstream'
import type { Msg, Subscription } from '@nats-io/transport-node'

import type { NatsConnection } from '../nats.ts'
import { within } from '../within.ts'
import { SPOOL_STREAM } from './stream-subjects.ts'

/** Room for a batch over a slow line. A server that is lost answers nothing. */
const BATCH_MS = 10_000

/** A consumer that a killed process left. Longer than PostgreSQL takes for the largest batch. */
const UNUSED_MS = 60_000

const NO_MESSAGES = 404
const TOO_LARGE = 409

export interface SpooledMessage {
  sequence: number
  data: Uint8Array
}

interface ReaderDeps {
  nats: NatsConnection
  manager: JetStreamManager
  /** Subject of the share. */
  share: string
}

/**
 * Reads a share of the spool from its oldest event on, each once, by a consumer without acknowledgements: an event stays
 * in the spool until it is removed. After an error, open another reader.
 */
export class SpoolReader implements AsyncDisposable {
  readonly #deps: ReaderDeps
  readonly #consumer: string
  #delivered = 0

  private constructor(deps: ReaderDeps, consumer: string) {
    this.#deps = deps
    this.#consumer = consumer
  }

  static async open(deps: ReaderDeps): Promise<SpoolReader> {
    const { name } = await deps.manager.consumers.add(SPOOL_STREAM, {
      filter_subject: deps.share,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      inactive_threshold: UNUSED_MS * 1_000_000,
      mem_storage: true,
      num_replicas: 1,
    })
    return new SpoolReader(deps, name)
  }

  /** The next events, in order: at most `limit` and `bytesMax`, or one that is larger. Empty when there are none. */
  async next({ limit, bytesMax }: { limit: number; bytesMax: number }): Promise<SpooledMessage[]> {
    const { messages, end } = await this.#ask({ batch: limit, max_bytes: bytesMax })
    if (messages.length > 0 || end?.headers?.code === NO_MESSAGES) return messages
    if (end?.headers?.code !== TOO_LARGE) throw failureOf(end)
    const alone = await this.#ask({ batch: 1 })
    if (alone.messages.length === 0) throw failureOf(alone.end)
    return alone.messages
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The server removes an unused consumer by itself.
    await this.#deps.manager.consumers.delete(SPOOL_STREAM, this.#consumer).catch(() => {})
  }

  /** Messages of a request, and its end; undefined when all messages that it requested came. */
  async #ask(request: {
    batch: number
    max_bytes?: number
  }): Promise<{ messages: SpooledMessage[]; end: Msg | undefined }> {
    const { nats } = this.#deps
    const inbox = `_INBOX.${crypto.randomUUID()}`
    const answers = nats.subscribe(inbox)
    try {
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${SPOOL_STREAM}.${this.#consumer}`
      nats.publish(subject, JSON.stringify({ ...request, no_wait: true }), { reply: inbox })
      const gather = this.#gather(answers, { inbox, count: request.batch })
      return await within(BATCH_MS, gather, () => {
        throw failureOf(undefined)
      })
    } finally {
      answers.unsubscribe()
    }
  }

  async #gather(
    answers: Subscription,
    { inbox, count }: { inbox: string; count: number },
  ): Promise<{ messages: SpooledMessage[]; end: Msg | undefined }> {
    const messages: SpooledMessage[] = []
    for await (const message of answers) {
      if (message.subject === inbox) return { messages, end: message }
      const { sequence, delivery } = placeOf(message.reply ?? '')
      // To read past a message that was lost on its way would have it removed unread.
      if (delivery !== ++this.#delivered) throw new Error('A message of the spool was skipped')
      messages.push({ sequence, data: message.data })
      if (messages.length === count) break
    }
    return { messages, end: undefined }
  }
}

/** `$JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivery>...`; newer servers put a domain and an account before the stream. */
function placeOf(reply: string): { sequence: number; delivery: number } {
  const tokens = reply.split('.')
  const at = tokens.length === 9 ? 5 : 7
  return { sequence: Number(tokens[at]), delivery: Number(tokens[at + 1]) }
}

function failureOf(end: Msg | undefined): Error {
  const { code, description } = end?.headers ?? { code: 0, description: 'no answer' }
  return new Error(`Cannot read the spool: ${code} ${description}`)
}
