import { readFileSync } from 'node:fs'

import type { TraceSettings } from '../settings/trace-settings.ts'

/** Where spans go, and how. */
export interface ExportSettings {
  url: string
  protocol: 'http/protobuf' | 'http/json'
  headers: Record<string, string>
  timeoutMs: number
  isCompressed: boolean
  tls: { ca?: string; cert?: string; key?: string }
  /** As the batch processor of OpenTelemetry names them. */
  batches: {
    scheduledDelayMillis: number
    exportTimeoutMillis: number
    maxQueueSize: number
    maxExportBatchSize: number
  }
  /** Who sends them. */
  resource: Record<string, string>
}

/** A process, as its traces name it. */
export interface Sender {
  role: string
  instance: string
  version: string
}

const TRACES_PATH = 'v1/traces'

/** Undefined where traces are off. */
export function exportSettings(
  settings: TraceSettings,
  sender: Sender,
): ExportSettings | undefined {
  const url = urlOf(settings)
  const isOff = settings.OTEL_SDK_DISABLED === 'true' || settings.OTEL_TRACES_EXPORTER === 'none'
  if (url === undefined || isOff) return undefined
  const maxQueueSize = settings.OTEL_BSP_MAX_QUEUE_SIZE
  return {
    url,
    protocol: chosen(settings, 'PROTOCOL'),
    headers: {
      ...settings.OTEL_EXPORTER_OTLP_HEADERS,
      ...settings.OTEL_EXPORTER_OTLP_TRACES_HEADERS,
    },
    timeoutMs: chosen(settings, 'TIMEOUT'),
    isCompressed: chosen(settings, 'COMPRESSION') === 'gzip',
    tls: tlsOf(settings),
    batches: {
      scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: settings.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize,
      maxExportBatchSize: Math.min(maxQueueSize, settings.OTEL_BSP_MAX_EXPORT_BATCH_SIZE),
    },
    resource: resourceOf(settings, sender),
  }
}

/** The whole address for traces, else the collector's with their path. */
function urlOf({
  OTEL_EXPORTER_OTLP_ENDPOINT: base,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
}: TraceSettings): string | undefined {
  if (own !== undefined || base === undefined) return own
  return base + (base.endsWith('/') ? '' : '/') + TRACES_PATH
}

type Both =
  | 'PROTOCOL'
  | 'TIMEOUT'
  | 'COMPRESSION'
  | 'CERTIFICATE'
  | 'CLIENT_CERTIFICATE'
  | 'CLIENT_KEY'

/** The form of a setting for traces alone wins. */
function chosen<Name extends Both>(settings: TraceSettings, name: Name) {
  const own = settings[`OTEL_EXPORTER_OTLP_TRACES_${name}`]
  return own ?? settings[`OTEL_EXPORTER_OTLP_${name}`]
}

function tlsOf(settings: TraceSettings): ExportSettings['tls'] {
  const [ca, cert, key] = [
    chosen(settings, 'CERTIFICATE'),
    chosen(settings, 'CLIENT_CERTIFICATE'),
    chosen(settings, 'CLIENT_KEY'),
  ].map((path) => (path === undefined ? undefined : readFileSync(path, 'utf8')))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** The operator's words win over ours. */
function resourceOf(
  settings: TraceSettings,
  { role, instance, version }: Sender,
): Record<string, string> {
  const name = settings.OTEL_SERVICE_NAME
  return {
    'service.name': `postern-${role}`,
    'service.namespace': 'postern',
    'service.instance.id': instance,
    'service.version': version,
    'postern.role': role,
    ...settings.OTEL_RESOURCE_ATTRIBUTES,
    ...(name !== undefined && { 'service.name': name }),
  }
}
