import type { Clock } from '../clock.ts'
import type { HeaderPair } from '../request/headers.ts'
import type { Sampler } from './sampling.ts'
import { parentIn, traceIdOf, TRACEPARENT, type SpanName } from './trace-context.ts'

/** (OpenTelemetry: SpanKind) */
type Kind = 'internal' | 'server' | 'client' | 'producer'

/** A piece of work that is over. */
export interface NewSpan {
  name: string
  kind: Kind
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  /** On the monotonic clock. */
  startedAt: number
  endedAt: number
  attributes: Readonly<Record<string, string | number | boolean | null | undefined>>
  /** Another span of the trace, which this one follows. */
  follows?: string | undefined
  /** Why it failed. */
  fault?: string | null | undefined
}

/** A span with its times as the world counts them, in milliseconds since the epoch. */
export type TimedSpan = Omit<NewSpan, 'startedAt' | 'endedAt'> & { startMs: number; endMs: number }

/** The trace that something belongs to. */
export interface Trace {
  id: string
  /** The span of the sender under which it begins. */
  parent: SpanName | undefined
  isSampled: boolean
}

/** Takes spans and sends them somewhere. */
export interface SpanSink extends AsyncDisposable {
  add(span: TimedSpan): void
}

const MENTIONS_PARENT = new RegExp(`"${TRACEPARENT}"`, 'i')

/** A clock that was set by more than this moves the times of later spans. */
const STEP_MS = 100

/** The traces of a process. It is not there at all while they are off. */
export class Tracing implements AsyncDisposable {
  readonly #sink: SpanSink
  readonly #clock: Clock
  /** Whether a trace is recorded. */
  readonly samples: Sampler
  /** From the monotonic clock to the epoch. */
  #offsetMs: number

  constructor(sink: SpanSink, { samples, clock }: { samples: Sampler; clock: Clock }) {
    this.#sink = sink
    this.#clock = clock
    this.samples = samples
    this.#offsetMs = clock.now() - performance.now()
  }

  /** The trace of what has this UUID: that of its sender when its headers name one, else its own. */
  traceOf(uuid: string, headers: readonly HeaderPair[]): Trace {
    const parent = parentIn(headers)
    const id = parent?.traceId ?? traceIdOf(uuid)
    return { id, parent, isSampled: this.samples(id, parent) }
  }

  /** The same by headers as they are stored: JSON, which is read only when it has something to say. */
  traceOfStored(uuid: string, headers: string): Trace {
    return this.traceOf(uuid, MENTIONS_PARENT.test(headers) ? pairsOf(headers) : [])
  }

  record({ startedAt, endedAt, ...span }: NewSpan): void {
    const offsetMs = this.#clock.now() - performance.now()
    if (Math.abs(offsetMs - this.#offsetMs) > STEP_MS) this.#offsetMs = offsetMs
    this.#sink.add({
      ...span,
      startMs: startedAt + this.#offsetMs,
      endMs: Math.max(startedAt, endedAt) + this.#offsetMs,
    })
  }

  /** The moment on the monotonic clock at which it was this time. */
  whenItWas(epochMs: number): number {
    return Math.min(performance.now(), epochMs - this.#offsetMs)
  }

  /** Sends what there is, for a few seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sink[Symbol.asyncDispose]()
  }
}

/** None where the text is no list of headers: whoever sends it finds that out and says so. */
function pairsOf(headers: string): HeaderPair[] {
  try {
    const given: unknown = JSON.parse(headers)
    return Array.isArray(given) ? given.filter(isPair) : []
  } catch {
    return []
  }
}

function isPair(given: unknown): given is HeaderPair {
  return Array.isArray(given) && typeof given[0] === 'string' && typeof given[1] === 'string'
}
