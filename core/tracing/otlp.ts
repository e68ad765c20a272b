import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

import { SpanKind, SpanStatusCode, TraceFlags, type SpanContext } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'

import type { Logger } from '../log.ts'
import { within } from '../within.ts'
import type { ExportSettings } from './export-settings.ts'
import type { SpanSink, TimedSpan } from './tracing.ts'

/** A process that ends waits so long for its last spans. */
const LAST_MS = 3_000

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
} as const

/** The code of an export that succeeded. (OpenTelemetry: ExportResultCode) */
const TAKEN = 0

const SCOPE = { name: 'postern' }

/** The end of a span. */
export type SpanOutcome = 'exported' | 'failed' | 'dropped'

interface SinkOptions {
  settings: ExportSettings
  log: Logger
  counts: Record<SpanOutcome, number>
}

/**
 * Sends spans over OTLP in batches. A collector that does not take them costs spans and nothing else: what waits is
 * bounded, and a line says so once.
 */
export function openOtlp({ settings, log, counts }: SinkOptions): SpanSink {
  const resource = resourceFromAttributes(settings.resource)
  let waiting = 0
  let isFailing = false
  const told = (spans: number, error: Error | undefined): void => {
    waiting -= spans
    counts[error === undefined ? 'exported' : 'failed'] += spans
    if (isFailing === (error !== undefined)) return
    isFailing = error !== undefined
    const { url } = settings
    if (isFailing) log.warn({ err: error, url }, 'Cannot send traces')
    else log.info({ url }, 'Traces are sent again')
  }
  const Agent = settings.url.startsWith('https:') ? HttpsAgent : HttpAgent
  const agent = new Agent({ keepAlive: true, ...settings.tls })
  let isEnded = false
  const exporter = exporterOf(settings, {
    agent,
    // Asked for before each try: without them the exporter would go on trying after the end.
    headers: async () => {
      if (isEnded) throw new Error('The process ends')
      return settings.headers
    },
  })
  const processor = new BatchSpanProcessor({
    exporter: telling(exporter, told),
    ...settings.batches,
  })
  return {
    add(span) {
      // The processor would drop it too, without a word.
      if (waiting >= settings.batches.maxQueueSize) {
        counts.dropped++
        return
      }
      waiting++
      processor.onEnd(readable(span, resource))
    },
    async [Symbol.asyncDispose]() {
      const flushed = processor.shutdown().catch(() => undefined)
      await within(LAST_MS, flushed, () => undefined)
      isEnded = true
      agent.destroy()
    },
  }
}

type ExporterOptions = NonNullable<ConstructorParameters<typeof ProtobufExporter>[0]>

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value of an enum that the package keeps to itself
const GZIP = 'gzip' as NonNullable<ExporterOptions['compression']>

function exporterOf(
  { protocol, url, timeoutMs, isCompressed, batches }: ExportSettings,
  { agent, headers }: { agent: HttpAgent } & Required<Pick<ExporterOptions, 'headers'>>,
): SpanExporter {
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter
  return new Exporter({
    url,
    headers,
    timeoutMillis: timeoutMs,
    // A process that ends sends all batches at once.
    concurrencyLimit: Math.ceil(batches.maxQueueSize / batches.maxExportBatchSize) + 1,
    ...(isCompressed && { compression: GZIP }),
    httpAgentOptions: () => agent,
  })
}

/** The same exporter, with a word about each batch. */
function telling(
  exporter: SpanExporter,
  told: (spans: number, error: Error | undefined) => void,
): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const error = result.error ?? new Error('The collector did not take them')
        const code: number = result.code
        told(spans.length, code === TAKEN ? undefined : error)
        done(result)
      })
    },
    shutdown: async () => await exporter.shutdown(),
  }
}

function readable(span: TimedSpan, resource: ReadableSpan['resource']): ReadableSpan {
  const { name, kind, traceId, spanId, parentSpanId, startMs, endMs, fault } = span
  const context = contextOf(traceId, spanId)
  return {
    name,
    kind: KINDS[kind],
    spanContext: () => context,
    ...(parentSpanId !== undefined && { parentSpanContext: contextOf(traceId, parentSpanId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    status:
      fault == null
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: fault },
    attributes: Object.fromEntries(
      Object.entries(span.attributes).filter(([, value]) => value != null),
    ),
    links: span.follows === undefined ? [] : [{ context: contextOf(traceId, span.follows) }],
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): [number, number] {
  const microseconds = Math.round(ms * 1_000)
  return [Math.floor(microseconds / 1_000_000), (microseconds % 1_000_000) * 1_000]
}
