import { z } from 'zod'

import { readableFile } from './file-kinds.ts'
import { oneOf, plainText, refuse, whole } from './setting-kinds.ts'

/** (OpenTelemetry: General SDK Configuration) */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

const ENDPOINT_EXAMPLE = 'http://otel-collector:4318'
const PAIRS_EXAMPLE = 'name=value,other=value'
const TEXT_MAX = 255
const TIMEOUT_MS_MAX = 600_000
const SPANS_MAX = 1_000_000
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** The address of a collector that takes OTLP over HTTP. */
const endpoint = z.string().transform((text, context) => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    return refuse(context, `must be a URL such as ${ENDPOINT_EXAMPLE}`)
  }
  if (url.username !== '' || url.password !== '') {
    return refuse(
      context,
      'must hold no user and no password: put them into OTEL_EXPORTER_OTLP_HEADERS',
    )
  }
  // The exporter would leave them out.
  if (url.search !== '' || url.hash !== '') return refuse(context, 'must end after its path')
  return url.href
})

const protocol = oneOf(['http/protobuf', 'http/json'])
const compression = oneOf(['none', 'gzip'])
const timeout = whole(1, TIMEOUT_MS_MAX)

/** `name=value,other=value`, percent-encoded as W3C Baggage has it. */
function pairs(faultOf: (name: string, value: string) => string | undefined) {
  return z.string().transform((text, context) => {
    const found: Record<string, string> = {}
    for (const [at, item] of text.split(',').entries()) {
      if (item.trim() === '') continue
      const pair = pairOf(item)
      const fault = pair === undefined ? `must be ${PAIRS_EXAMPLE}` : faultOf(...pair)
      // Its text may be secret.
      if (fault !== undefined) refuse(context, `item ${at + 1} ${fault}`)
      else if (pair !== undefined) found[pair[0]] = pair[1]
    }
    return found
  })
}

function pairOf(item: string): [name: string, value: string] | undefined {
  const at = item.indexOf('=')
  const name = item.slice(0, Math.max(0, at)).trim()
  if (name === '') return undefined
  try {
    return [decodeURIComponent(name), decodeURIComponent(item.slice(at + 1).trim())]
  } catch {
    return undefined
  }
}

const headers = pairs((name, value) => {
  if (!HEADER_NAME.test(name)) return 'has a name that no header can have'
  return HEADER_VALUE.test(value) ? undefined : 'has a value that no header can carry'
})

const attributes = pairs((_name, value) =>
  value.length > TEXT_MAX ? `has a value of more than ${TEXT_MAX} characters` : undefined,
)

const ratio = z
  .string()
  .transform((text, context) =>
    /^(?:0|1|0?\.\d{1,15}|[01]\.\d{0,15})$/.test(text) && Number(text) <= 1
      ? Number(text)
      : refuse(context, 'must be a number from 0 to 1, such as 0.1'),
  )

/**
 * The standard settings of OpenTelemetry that concern traces. With `TRACES` in its name a setting is for traces alone and
 * wins. (docs/traces.md)
 */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers.optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeout.default(10_000),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeout.optional(),
  OTEL_EXPORTER_OTLP_COMPRESSION: compression.default('none'),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression.optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: readableFile.optional(),
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'none']).default('otlp'),
  OTEL_TRACES_SAMPLER: oneOf(SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),
  OTEL_BSP_SCHEDULE_DELAY: whole(1, TIMEOUT_MS_MAX).default(5_000),
  OTEL_BSP_EXPORT_TIMEOUT: whole(1, TIMEOUT_MS_MAX).default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: whole(1, SPANS_MAX).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole(1, SPANS_MAX).default(512),
  OTEL_SERVICE_NAME: plainText(TEXT_MAX).optional(),
  OTEL_RESOURCE_ATTRIBUTES: attributes.optional(),
  OTEL_SDK_DISABLED: oneOf(['true', 'false']).default('false'),
}

const Shape = z.object(traceSettings)

export type TraceSettings = z.infer<typeof Shape>

export const TRACE_SETTING_NAMES: readonly string[] = Object.keys(traceSettings)

/** Their values may be secret. */
export const TRACE_SECRET_NAMES = TRACE_SETTING_NAMES.filter((name) => name.endsWith('_HEADERS'))

/** Their values are the paths of files. */
export const TRACE_FILE_NAMES = TRACE_SETTING_NAMES.filter((name) =>
  /_(?:CERTIFICATE|CLIENT_KEY)$/.test(name),
)
