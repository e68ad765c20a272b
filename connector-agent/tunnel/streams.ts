import { type Frame, ProtocolError } from '../../core/tunnel/frames.ts'
import {
  type Failure,
  type RequestHead,
  type ResponseHead,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
} from '../../core/tunnel/protocol.ts'

/** The result of a request to the destination. */
export type Answer =
  | { kind: 'response'; head: ResponseHead; body: Uint8Array }
  | { kind: 'failure'; failure: Failure }

/** Makes one request. Never throws. `signal`: nobody waits for the answer any more. */
export type Perform = (
  head: RequestHead,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
) => Promise<Answer>

interface StreamsDeps {
  write(frame: Frame): void
  perform: Perform
  streamsMax: number
}

/** Credit is given back in pieces of this size, so that it costs few frames. */
const CREDIT_STEP_BYTES = STREAM_WINDOW_BYTES / 2
const MESSAGE_LENGTH_MAX = 500
const NOTHING_DONE = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 0 }

/**
 * The agent's end of a session without its socket: takes requests, gives their bodies to `perform` as fast as it reads
 * them, and answers each once.
 */
export class AgentStreams {
  readonly #deps: StreamsDeps
  readonly #streams = new Map<number, IncomingBody>()
  readonly #controllers = new Map<number, AbortController>()
  #lastId = 0
  #received = 0
  #uncredited = 0
  #isGoingAway = false
  readonly #drained = Promise.withResolvers<undefined>()

  constructor(deps: StreamsDeps) {
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#controllers.size
  }

  /** Throws a `ProtocolError` for what a gateway may not send. */
  receive(frame: Frame): void {
    if (frame.kind === 'request') {
      this.#open(frame.stream, frame.head)
    } else if (frame.kind === 'data') {
      this.#takeData(frame.stream, frame.bytes)
    } else if (frame.kind === 'end') {
      this.#find(frame.stream)?.end()
    } else if (frame.kind === 'cancel') {
      this.#find(frame.stream)
      this.#controllers.get(frame.stream)?.abort()
    } else if (frame.kind !== 'settings' && frame.kind !== 'going_away') {
      throw new ProtocolError(`A gateway sends no ${frame.kind}`)
    }
  }

  /** Refuses new requests; those in flight end. */
  goAway(reason: string): void {
    if (this.#isGoingAway) return
    this.#isGoingAway = true
    this.#deps.write({ kind: 'going_away', reason })
    if (this.inFlight === 0) this.#drained.resolve(undefined)
  }

  /** Resolves when nothing is in flight after `goAway()`. */
  async drained(): Promise<void> {
    await this.#drained.promise
  }

  /**
   * The socket is closed. Requests whose bodies are here go on to their end: the destination may have them, and their
   * answers are there when they are asked for once more.
   */
  end(): void {
    for (const [id, controller] of this.#controllers) {
      if (this.#streams.get(id)?.isComplete !== true) controller.abort()
    }
  }

  #open(id: number, head: RequestHead): void {
    if (id <= this.#lastId) throw new ProtocolError('A stream was opened twice')
    this.#lastId = id
    if (this.#isGoingAway || this.inFlight >= this.#deps.streamsMax) {
      const failure: Failure = {
        code: 'refused',
        message: this.#isGoingAway ? 'The agent is going away' : 'The agent has no room',
        isUnsent: true,
        phases: NOTHING_DONE,
      }
      this.#deps.write({ kind: 'failure', stream: id, failure })
      return
    }
    const body = new IncomingBody(head.bodyBytes, (bytes) => this.#passedOn(id, bytes))
    const controller = new AbortController()
    this.#streams.set(id, body)
    this.#controllers.set(id, controller)
    void this.#answer(id, head, body, controller.signal)
  }

  async #answer(
    id: number,
    head: RequestHead,
    body: IncomingBody,
    signal: AbortSignal,
  ): Promise<void> {
    const answer = await this.#deps.perform(head, body, signal).catch(internal)
    this.#streams.delete(id)
    this.#controllers.delete(id)
    this.#returnCredit(body.discard())
    if (!signal.aborted) this.#deps.write({ ...answer, stream: id })
    if (this.#isGoingAway && this.inFlight === 0) this.#drained.resolve(undefined)
  }

  #takeData(id: number, bytes: Uint8Array): void {
    this.#received += bytes.length
    if (this.#received > SESSION_WINDOW_BYTES)
      throw new ProtocolError('More data than the session allows')
    const body = this.#find(id)
    if (body !== undefined) body.push(bytes)
    // It came for a request that is answered: it is dropped, and the session has its credit back.
    else this.#returnCredit(bytes.length)
  }

  /** Undefined for a stream that is over. Throws for one that never was. */
  #find(id: number): IncomingBody | undefined {
    if (id > this.#lastId) throw new ProtocolError('Frame of a stream that was never opened')
    return this.#streams.get(id)
  }

  #passedOn(id: number, bytes: number): void {
    this.#deps.write({ kind: 'credit', stream: id, bytes })
    this.#returnCredit(bytes)
  }

  #returnCredit(bytes: number): void {
    this.#received -= bytes
    this.#uncredited += bytes
    if (this.#uncredited < CREDIT_STEP_BYTES && this.inFlight > 0) return
    if (this.#uncredited === 0) return
    this.#deps.write({ kind: 'credit', stream: 0, bytes: this.#uncredited })
    this.#uncredited = 0
  }
}

function internal(error: unknown): Answer {
  const message =
    error instanceof Error ? error.message.slice(0, MESSAGE_LENGTH_MAX) : 'Internal error'
  return {
    kind: 'failure',
    failure: { code: 'internal', message, isUnsent: false, phases: NOTHING_DONE },
  }
}

/** A request body on its way to the destination, held within the window of its stream. */
class IncomingBody implements AsyncIterable<Uint8Array> {
  readonly #passedOn: (bytes: number) => void
  /** The window of the stream holds all of it: the gateway waits for no credit. */
  readonly #isSmall: boolean
  #chunks: Uint8Array[] = []
  #held = 0
  #uncredited = 0
  #isComplete = false
  /** Wakes the reader. */
  #wake: (() => void) | undefined

  constructor(bodyBytes: number, passedOn: (bytes: number) => void) {
    this.#isSmall = bodyBytes <= STREAM_WINDOW_BYTES
    this.#passedOn = passedOn
  }

  /** Its end has come, though not all of it may be read. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  push(bytes: Uint8Array): void {
    if (this.#isComplete) throw new ProtocolError('Data after the end of a body')
    this.#held += bytes.length
    if (this.#held + this.#uncredited > STREAM_WINDOW_BYTES) {
      throw new ProtocolError('More data than the stream allows')
    }
    this.#chunks.push(bytes)
    this.#wake?.()
  }

  end(): void {
    if (this.#isComplete) throw new ProtocolError('A body ended twice')
    this.#isComplete = true
    this.#wake?.()
  }

  /** Drops what nobody read, and tells how many bytes the session gets back for the stream. */
  discard(): number {
    const bytes = this.#held + this.#uncredited
    this.#chunks = []
    this.#held = 0
    this.#uncredited = 0
    return bytes
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        yield chunk
        this.#read(chunk.length)
      } else if (this.#isComplete) {
        return
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }

  #read(bytes: number): void {
    // A body that was discarded meanwhile is counted already.
    if (this.#held === 0) return
    this.#held -= bytes
    this.#uncredited += bytes
    const isLast = this.#chunks.length === 0 && !this.#isSmall
    if (this.#uncredited < CREDIT_STEP_BYTES && !isLast) return
    if (this.#isComplete && this.#chunks.length === 0) return
    const given = this.#uncredited
    this.#uncredited = 0
    this.#passedOn(given)
  }
}
