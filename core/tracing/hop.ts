import type { RequestHead } from '../tunnel/protocol.ts'
import { newSpanId, parentIn, TRACEPARENT, writeTraceparent } from './trace-context.ts'
import type { NewSpan, Tracing } from './tracing.ts'

/** A request on its way through a process that passes it on. */
export interface Hop {
  /** As it goes on: under the span of this process. */
  head: RequestHead
  end(result: Pick<NewSpan, 'fault' | 'attributes'>): void
}

/** Undefined where nothing is recorded: the request then goes on as it came. */
export function openHop(
  tracing: Tracing | undefined,
  { name, kind }: Pick<NewSpan, 'name' | 'kind'>,
  head: RequestHead,
): Hop | undefined {
  const parent = tracing && parentIn(head.headers)
  if (parent === undefined || !tracing?.samples(parent.traceId, parent)) return undefined
  const startedAt = performance.now()
  const { traceId } = parent
  const spanId = newSpanId()
  const own = writeTraceparent({ traceId, spanId, isSampled: true })
  const headers = head.headers.map((pair): [string, string] =>
    pair[0].toLowerCase() === TRACEPARENT ? [pair[0], own] : pair,
  )
  return {
    head: { ...head, headers },
    end({ fault, attributes }) {
      tracing.record({
        name,
        kind,
        traceId,
        spanId,
        parentSpanId: parent.spanId,
        startedAt,
        endedAt: performance.now(),
        attributes: { 'http.request.method': head.method, ...attributes },
        fault,
      })
    },
  }
}
