import { type Frame, ProtocolError } from '../../core/tunnel/frames.ts'
import {
  DATA_BYTES_MAX,
  type Failure,
  type RequestHead,
  type ResponseHead,
  SESSION_STREAMS_MAX,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
} from '../../core/tunnel/protocol.ts'
import type { BodyBudget } from './body-budget.ts'

/** The outcome of a request that a session got. */
export type Outcome =
  | { kind: 'response'; head: ResponseHead; body: Uint8Array }
  | { kind: 'failure'; failure: Failure }
  /** The destination certainly did not get the whole request: another session may have it. */
  | { kind: 'unsent' }
  /** The session ended before the answer came: the destination may have the request. */
  | { kind: 'lost' }
  | { kind: 'cancelled' }

export interface StreamsDeps {
  write(frame: Frame): void
  budget: BodyBudget
  /** Whose share of the budget the bodies take. */
  owner: string
}

interface Stream {
  id: number
  credit: number
  /** Sent and not yet credited: counted against session and budget. */
  outstanding: number
  isSent: boolean
  settle(outcome: Outcome): void
}

const STREAM_ID_MAX = 0xffff_ffff

/** The head of the request is larger than a frame. */
const TOO_LARGE: Failure = {
  code: 'internal',
  message: 'The headers of the request are too large for the tunnel',
  isUnsent: true,
  phases: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 },
}

/**
 * The gateway's end of a session without its socket: opens streams, sends bodies within their credit, settles each
 * request exactly once. Nothing here waits for one stream on behalf of another.
 */
export class GatewayStreams {
  readonly #deps: StreamsDeps
  readonly #streams = new Map<number, Stream>()
  readonly #waiting = new Set<() => void>()
  #lastId = 0
  #credit = SESSION_WINDOW_BYTES
  #streamsMax = SESSION_STREAMS_MAX
  #isAccepting = true
  #isEnded = false

  constructor(deps: StreamsDeps) {
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#streams.size
  }

  /** Whether one more request may be given to the session. */
  get hasRoom(): boolean {
    return this.#isAccepting && !this.#isEnded && this.#streams.size < this.#streamsMax
  }

  get isAccepting(): boolean {
    return this.#isAccepting && !this.#isEnded
  }

  /** `body` is read no faster than the agent passes it on. `signal` gives the request up. */
  async send(
    head: RequestHead,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!this.hasRoom || this.#lastId >= STREAM_ID_MAX) return { kind: 'unsent' }
    if (signal.aborted) return { kind: 'cancelled' }
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const stream: Stream = {
      id: ++this.#lastId,
      credit: STREAM_WINDOW_BYTES,
      outstanding: 0,
      isSent: false,
      settle: resolve,
    }
    this.#streams.set(stream.id, stream)
    const cancel = (): void => this.#giveUp(stream, { kind: 'cancelled' })
    signal.addEventListener('abort', cancel)
    try {
      this.#deps.write({ kind: 'request', stream: stream.id, head })
    } catch {
      this.#close(stream, { kind: 'failure', failure: TOO_LARGE })
    }
    this.#pump(stream, body).catch(() => this.#giveUp(stream, { kind: 'unsent' }))
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Throws a `ProtocolError` for what an agent may not send. */
  receive(frame: Frame): void {
    if (frame.kind === 'settings') {
      this.#streamsMax = Math.min(this.#streamsMax, frame.settings.streamsMax)
    } else if (frame.kind === 'going_away') {
      this.#isAccepting = false
    } else if (frame.kind === 'credit') {
      this.#addCredit(frame.stream, frame.bytes)
    } else if (frame.kind === 'response') {
      this.#settle(frame.stream, { kind: 'response', head: frame.head, body: frame.body })
    } else if (frame.kind === 'failure') {
      const { failure } = frame
      const outcome: Outcome =
        failure.isUnsent && failure.code === 'refused'
          ? { kind: 'unsent' }
          : { kind: 'failure', failure }
      this.#settle(frame.stream, outcome)
    } else {
      throw new ProtocolError(`An agent sends no ${frame.kind}`)
    }
  }

  /** No request is given to the session any more; those in flight end. */
  stopAccepting(): void {
    this.#isAccepting = false
  }

  /** The socket is closed: every request in flight is settled. */
  end(): void {
    this.#isEnded = true
    for (const stream of this.#streams.values()) {
      this.#close(stream, { kind: stream.isSent ? 'lost' : 'unsent' })
    }
    this.#wake()
  }

  async #pump(stream: Stream, body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length;) {
        // Before anything is taken: a stream that is over would never give it back.
        if (!this.#streams.has(stream.id)) return
        const bytes = this.#allow(stream, chunk.length - at)
        if (bytes === 0) {
          await this.#someCredit()
          continue
        }
        this.#deps.write({ kind: 'data', stream: stream.id, bytes: chunk.subarray(at, at + bytes) })
        at += bytes
      }
    }
    if (!this.#streams.has(stream.id)) return
    stream.isSent = true
    this.#deps.write({ kind: 'end', stream: stream.id })
  }

  /** Takes what stream, session and gateway allow of `wanted` bytes. */
  #allow(stream: Stream, wanted: number): number {
    const { budget, owner } = this.#deps
    const bytes = Math.min(wanted, DATA_BYTES_MAX, stream.credit, this.#credit, budget.left(owner))
    if (bytes <= 0) return 0
    stream.credit -= bytes
    stream.outstanding += bytes
    this.#credit -= bytes
    budget.take(owner, bytes)
    return bytes
  }

  async #someCredit(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const wake = (): void => resolve(undefined)
    this.#waiting.add(wake)
    this.#deps.budget.onGiven(wake)
    await promise
    this.#waiting.delete(wake)
  }

  #wake(): void {
    const woken = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of woken) wake()
  }

  #addCredit(id: number, bytes: number): void {
    if (id === 0) {
      this.#credit += bytes
      if (this.#credit > SESSION_WINDOW_BYTES)
        throw new ProtocolError('Credit of the session overflows')
      this.#wake()
      return
    }
    const stream = this.#find(id)
    if (stream === undefined) return
    stream.credit += bytes
    if (stream.credit > STREAM_WINDOW_BYTES) throw new ProtocolError('Credit of a stream overflows')
    stream.outstanding -= bytes
    this.#deps.budget.give(this.#deps.owner, bytes)
    this.#wake()
  }

  #settle(id: number, outcome: Outcome): void {
    const stream = this.#find(id)
    if (stream !== undefined) this.#close(stream, outcome)
  }

  /** Undefined for a stream that is over: the agent had not heard of it. Throws for one that never was. */
  #find(id: number): Stream | undefined {
    if (id > this.#lastId) throw new ProtocolError('Frame of a stream that was never opened')
    return this.#streams.get(id)
  }

  #giveUp(stream: Stream, outcome: Outcome): void {
    if (!this.#streams.has(stream.id)) return
    if (!this.#isEnded) this.#deps.write({ kind: 'cancel', stream: stream.id })
    this.#close(stream, outcome)
  }

  #close(stream: Stream, outcome: Outcome): void {
    this.#streams.delete(stream.id)
    // The session's credit for these bytes comes from the agent; the gateway's memory is free of them.
    if (stream.outstanding > 0) this.#deps.budget.give(this.#deps.owner, stream.outstanding)
    stream.outstanding = 0
    stream.settle(outcome)
    this.#wake()
  }
}
