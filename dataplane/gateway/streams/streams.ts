import { PIECE_BYTES } from '../../../core/tunnel/call.ts'
import { type Frame, ProtocolError } from '../../../core/tunnel/frames.ts'
import {
  DATA_BYTES_MAX,
  type Failure,
  type RequestHead,
  type ResponseHead,
  SESSION_STREAMS_MAX,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
} from '../../../core/tunnel/protocol.ts'
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
  /** Bytes of the body that are here, or sent and not yet credited: counted in the budget. */
  held: number
  isSent: boolean
  /** Ends a wait for the budget. */
  withdraw(): void
  settle(outcome: Outcome): void
}

const STREAM_ID_MAX = 0xffff_ffff

/** Frames of an agent that change nothing: so many at first, and so many more for each request that is given up. */
const IDLE_FRAMES_MAX = 100
/** A window credited 1 KiB at a time, and an answer, may all cross with a `cancel`. */
const CROSSING_FRAMES_MAX = STREAM_WINDOW_BYTES / 1024 + 1

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
  #idleFrames = IDLE_FRAMES_MAX
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

  /** Whether the gateway may hold so many bytes of a body more for the owner of the session. */
  fits(bytes: number): boolean {
    return this.#deps.budget.fits(this.#deps.owner, bytes)
  }

  /**
   * `body` comes in pieces of `PIECE_BYTES` at most and is read no faster than the agent passes it on. `signal` gives the
   * request up.
   */
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
      held: 0,
      isSent: false,
      withdraw: () => {},
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
    this.#pump(stream, head.bodyBytes, body).catch(() => this.#giveUp(stream, { kind: 'unsent' }))
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Throws a `ProtocolError` for what an agent may not send. */
  receive(frame: Frame): void {
    if (frame.kind === 'settings') {
      this.#countIdle()
      this.#streamsMax = Math.min(this.#streamsMax, frame.settings.streamsMax)
    } else if (frame.kind === 'going_away') {
      this.#countIdle()
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

  async #pump(stream: Stream, bodyBytes: number, body: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = body[Symbol.asyncIterator]()
    for (let left = bodyBytes; left > 0 && this.#isOpen(stream);) {
      const wanted = Math.min(left, PIECE_BYTES)
      await this.#takeBudget(stream, wanted)
      if (!this.#isOpen(stream)) return
      const { value: piece, done } = await pieces.next()
      if (!this.#isOpen(stream)) return
      if (done === true) throw new Error('The body is shorter than its request says')
      const { length } = piece
      this.#deps.budget.add(this.#deps.owner, length - wanted)
      stream.held += length - wanted
      left -= length
      await this.#sendPiece(stream, piece)
    }
    if (!this.#isOpen(stream)) return
    stream.isSent = true
    this.#deps.write({ kind: 'end', stream: stream.id })
  }

  async #sendPiece(stream: Stream, piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length && this.#isOpen(stream);) {
      const bytes = Math.min(piece.length - at, DATA_BYTES_MAX, stream.credit, this.#credit)
      if (bytes <= 0) {
        await this.#someCredit()
        continue
      }
      stream.credit -= bytes
      this.#credit -= bytes
      this.#deps.write({ kind: 'data', stream: stream.id, bytes: piece.subarray(at, at + bytes) })
      at += bytes
    }
  }

  async #takeBudget(stream: Stream, bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const forget = this.#deps.budget.take(this.#deps.owner, bytes, () => {
      stream.held += bytes
      resolve(undefined)
    })
    stream.withdraw = () => {
      forget()
      resolve(undefined)
    }
    await promise
  }

  async #someCredit(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#waiting.add(() => resolve(undefined))
    await promise
  }

  #isOpen({ id }: Stream): boolean {
    return this.#streams.has(id)
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
    stream.held -= bytes
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
    const stream = this.#streams.get(id)
    if (stream === undefined) this.#countIdle()
    return stream
  }

  #countIdle(): void {
    if (this.#idleFrames-- <= 0) throw new ProtocolError('Too many frames that change nothing')
  }

  #giveUp(stream: Stream, outcome: Outcome): void {
    if (!this.#isOpen(stream)) return
    if (!this.#isEnded) this.#deps.write({ kind: 'cancel', stream: stream.id })
    this.#idleFrames += CROSSING_FRAMES_MAX
    this.#close(stream, outcome)
  }

  #close(stream: Stream, outcome: Outcome): void {
    this.#streams.delete(stream.id)
    stream.withdraw()
    // The session's credit for these bytes comes from the agent; the gateway's memory is free of them.
    if (stream.held > 0) this.#deps.budget.give(this.#deps.owner, stream.held)
    stream.held = 0
    stream.settle(outcome)
    this.#wake()
  }
}
