import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import type { TraceHeaders } from '../../../core/delivery/delivery-headers.ts'
import { encodeId, timeOfId } from '../../../core/ids.ts'
import {
  spanIdOfAttempt,
  spanIdOfRequest,
  spanIdOfWait,
  writeTraceparent,
} from '../../../core/tracing/trace-context.ts'
import type { NewSpan, Trace, Tracing } from '../../../core/tracing/tracing.ts'
import type { Destination } from './destination.ts'
import type { Outgoing } from './outgoing.ts'

/** An attempt under way, as its trace sees it. */
export interface TracedAttempt {
  /** For the destination, and for a gateway and an agent on the way there. */
  headers: TraceHeaders
  /** To be called when its result is known. */
  end(attempt: DeliveryResult['attempt']): void
}

/** Begins the trace of an attempt. */
export type TraceAttempt = (outgoing: Outgoing, destination: Destination) => TracedAttempt

/**
 * An event's trace has the wait and the attempt beside each other, below the request that brought the event; a test delivery
 * has a trace of its own.
 */
export function openAttemptTraces(tracing: Tracing): TraceAttempt {
  return (outgoing, destination) => {
    const { deliveryId, eventId } = outgoing
    const trace = tracing.traceOfStored(eventId ?? deliveryId, outgoing.event.headers)
    const spanId = spanIdOfAttempt(deliveryId, outgoing.attemptNumber + 1)
    const name = { traceId: trace.id, spanId, isSampled: trace.isSampled }
    const headers = { traceparent: writeTraceparent(name), isContinued: trace.parent !== undefined }
    if (!trace.isSampled) return { headers, end() {} }
    const startedAt = performance.now()
    return {
      headers,
      end(attempt) {
        const base = baseOf(trace, outgoing)
        const isFirst = attempt.number === 1 && attempt.trigger === 'initial'
        const since = isFirst ? tracing.whenItWas(timeOfId(deliveryId)) : outgoing.askedAt
        if (eventId !== null && since !== undefined) {
          tracing.record({
            ...base,
            name: 'wait',
            kind: 'internal',
            spanId: spanIdOfWait(deliveryId, attempt.number),
            startedAt: since,
            endedAt: startedAt,
          })
        }
        tracing.record({
          ...base,
          name: 'attempt',
          kind: 'client',
          spanId,
          startedAt,
          endedAt: performance.now(),
          attributes: { ...base.attributes, ...factsOf(attempt, destination) },
          follows: firstOf(outgoing),
          fault: faultOf(attempt),
        })
      },
    }
  }
}

function baseOf(
  trace: Trace,
  { deliveryId, eventId, attemptNumber }: Outgoing,
): Pick<NewSpan, 'traceId' | 'parentSpanId' | 'attributes'> {
  return {
    traceId: trace.id,
    parentSpanId: eventId === null ? trace.parent?.spanId : spanIdOfRequest(eventId),
    attributes: {
      'postern.delivery.id': encodeId('dlv', deliveryId),
      'postern.event.id': eventId === null ? undefined : encodeId('evt', eventId),
      'postern.attempt.number': attemptNumber + 1,
    },
  }
}

/** The host alone: a path or a query may be secret. */
function factsOf(
  attempt: DeliveryResult['attempt'],
  { id, origin, method, connectorId }: Destination,
): NewSpan['attributes'] {
  return {
    'http.request.method': method,
    'server.address': new URL(origin).hostname,
    'http.response.status_code': attempt.responseStatus,
    'error.type': attempt.errorCode,
    'postern.destination.id': encodeId('dst', id),
    'postern.connector.id': connectorId === null ? undefined : encodeId('cnr', connectorId),
    'postern.attempt.trigger': attempt.trigger,
    'postern.outcome': attempt.outcome,
  }
}

/** A retry follows the first attempt of its delivery, the first attempt of a replay the request that brought the event. */
function firstOf({ deliveryId, eventId, attemptNumber, isReplay }: Outgoing): string | undefined {
  if (attemptNumber > 0) return spanIdOfAttempt(deliveryId, 1)
  return isReplay && eventId !== null ? spanIdOfRequest(eventId) : undefined
}

function faultOf({ errorCode, responseStatus }: DeliveryResult['attempt']): string | undefined {
  if (errorCode === null) return undefined
  return responseStatus === null ? errorCode : `${errorCode}: ${responseStatus}`
}
