import type { Clock } from '../../../core/clock.ts'
import { encodeId, newId, uuidOfBytes } from '../../../core/ids.ts'
import type { HeaderPair } from '../../../core/request/headers.ts'
import { newSpanId, spanIdOfRequest } from '../../../core/tracing/trace-context.ts'
import type { NewSpan, Trace, Tracing } from '../../../core/tracing/tracing.ts'

/** An event on its way to its deliveries. */
export interface TracedEvent {
  id: Buffer
  /** As they are stored. */
  headers: string
  deliveries: readonly unknown[]
}

/** A request, or a mail for one of its recipients, that is answered. */
interface Answered {
  name: 'ingest request' | 'ingest mail'
  headers: readonly HeaderPair[]
  /** The event that it brought. */
  eventId: Buffer | undefined
  sourceId: string | undefined
  remoteIp: string
  outcome: string
  /** As its protocol has them. */
  attributes: NewSpan['attributes']
  /** Why the relay could not take it. That its sender is to blame is no fault of the span. */
  fault: string | undefined
  startedAt: number
}

/** Hears of one delivery whether the stream has it. */
export type Published = (isAcked: boolean) => void

/** The spans of ingest: a request, and below it the store and the publishing of its event. */
export class IngestTraces {
  readonly #tracing: Tracing
  readonly #clock: Clock

  constructor(tracing: Tracing, clock: Clock) {
    this.#tracing = tracing
    this.#clock = clock
  }

  /** A request that brought no event has a trace of its own. */
  answered(request: Answered): void {
    const { eventId, sourceId } = request
    const id = eventId === undefined ? newId(this.#clock.now()) : uuidOfBytes(eventId)
    const trace = this.#tracing.traceOf(id, request.headers)
    if (!trace.isSampled) return
    this.#tracing.record({
      name: request.name,
      kind: 'server',
      traceId: trace.id,
      spanId: spanIdOfRequest(id),
      parentSpanId: trace.parent?.spanId,
      startedAt: request.startedAt,
      endedAt: performance.now(),
      attributes: {
        'client.address': request.remoteIp,
        'postern.outcome': request.outcome,
        'postern.source.id': sourceId === undefined ? undefined : encodeId('src', sourceId),
        'postern.event.id': eventId === undefined ? undefined : encodeId('evt', eventId),
        ...request.attributes,
      },
      fault: request.fault,
    })
  }

  /** Its request has waited for the store since `startedAt`. */
  stored(
    { id, headers }: Pick<TracedEvent, 'id' | 'headers'>,
    startedAt: number,
    where: string,
  ): void {
    const eventId = uuidOfBytes(id)
    const trace = this.#tracing.traceOfStored(eventId, headers)
    if (!trace.isSampled) return
    this.#tracing.record({
      ...below(trace, eventId),
      name: 'store',
      kind: 'client',
      startedAt,
      endedAt: performance.now(),
      attributes: { 'db.system.name': where },
    })
  }

  /** To be called with each delivery of the event once that is settled; undefined where nobody wants to know. */
  publishing({ id, headers, deliveries }: TracedEvent): Published | undefined {
    const eventId = uuidOfBytes(id)
    const trace = this.#tracing.traceOfStored(eventId, headers)
    if (!trace.isSampled) return undefined
    const startedAt = performance.now()
    let waiting = deliveries.length
    let lost = 0
    return (isAcked) => {
      if (!isAcked) lost++
      if (--waiting > 0) return
      this.#tracing.record({
        ...below(trace, eventId),
        name: 'publish',
        kind: 'producer',
        startedAt,
        endedAt: performance.now(),
        attributes: {
          'messaging.system': 'nats',
          'messaging.operation.name': 'publish',
          'messaging.batch.message_count': deliveries.length,
        },
        fault: lost > 0 ? `${lost} not acknowledged: the sweeper dispatches them` : undefined,
      })
    }
  }
}

function below(
  trace: Trace,
  eventId: string,
): Pick<NewSpan, 'traceId' | 'spanId' | 'parentSpanId'> {
  return { traceId: trace.id, spanId: newSpanId(), parentSpanId: spanIdOfRequest(eventId) }
}
