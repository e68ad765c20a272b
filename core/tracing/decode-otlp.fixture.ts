import { z } from 'zod'

/** A span as a collector reads it. */
export interface CollectedSpan {
  traceId: string
  spanId: string
  /** Empty for one without. */
  parentSpanId: string
  name: string
  kind: number
  startMs: number
  endMs: number
  attributes: Attributes
  links: { traceId: string; spanId: string }[]
  /** 2 is an error. */
  status: { code: number; message: string }
  resource: Attributes
}

type Attributes = Record<string, string | number | boolean>

const KeyValues = z
  .array(
    z.object({
      key: z.string(),
      value: z.object({
        stringValue: z.string().optional(),
        boolValue: z.boolean().optional(),
        intValue: z.coerce.number().optional(),
        doubleValue: z.number().optional(),
      }),
    }),
  )
  .default([])
  .transform((pairs) =>
    Object.fromEntries(
      pairs.map(({ key, value }) => [
        key,
        value.stringValue ?? value.boolValue ?? value.intValue ?? value.doubleValue ?? '',
      ]),
    ),
  )

const Named = z.object({ traceId: z.string(), spanId: z.string() })

const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: KeyValues }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            Named.extend({
              parentSpanId: z.string().default(''),
              name: z.string(),
              kind: z.number(),
              startTimeUnixNano: z.coerce.bigint(),
              endTimeUnixNano: z.coerce.bigint(),
              attributes: KeyValues,
              links: z.array(Named).default([]),
              status: z.object({ code: z.number().default(0), message: z.string().default('') }),
            }),
          ),
        }),
      ),
    }),
  ),
})

export function decodeJson(bytes: Buffer): CollectedSpan[] {
  const { resourceSpans } = Sent.parse(JSON.parse(bytes.toString()))
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ startTimeUnixNano, endTimeUnixNano, ...span }) => ({
        ...span,
        startMs: msOf(startTimeUnixNano),
        endMs: msOf(endTimeUnixNano),
        resource: resource.attributes,
      })),
    ),
  )
}

/** By the numbers of opentelemetry/proto/trace/v1/trace.proto. */
export function decodeProtobuf(bytes: Buffer): CollectedSpan[] {
  return messages(bytes, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? EMPTY, 1)
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({ ...spanOf(span), resource })),
    )
  })
}

const EMPTY = Buffer.alloc(0)

function spanOf(span: Buffer): Omit<CollectedSpan, 'resource'> {
  const fields = fieldsOf(span)
  const status = fieldsOf(messages(span, 15)[0] ?? EMPTY)
  return {
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    parentSpanId: hex(fields, 4),
    name: text(fields, 5),
    kind: number(fields, 6),
    startMs: msOf(fixed(fields, 7)),
    endMs: msOf(fixed(fields, 8)),
    attributes: attributesOf(span, 9),
    links: messages(span, 13).map((link) => {
      const named = fieldsOf(link)
      return { traceId: hex(named, 1), spanId: hex(named, 2) }
    }),
    status: { code: number(status, 3), message: text(status, 2) },
  }
}

function attributesOf(message: Buffer, field: number): Attributes {
  return Object.fromEntries(
    messages(message, field).map((pair) => [
      text(fieldsOf(pair), 1),
      valueOf(fieldsOf(messages(pair, 2)[0] ?? EMPTY)),
    ]),
  )
}

function valueOf(fields: Field[]): string | number | boolean {
  const [first] = fields
  if (first?.number === 2) return number(fields, 2) === 1
  if (first?.number === 3) return number(fields, 3)
  if (first?.number === 4) return bytesOf(fields, 4).readDoubleLE()
  return text(fields, 1)
}

interface Field {
  number: number
  value: bigint | Buffer
}

/** (Protocol Buffers: Encoding) */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => message.subarray(at, (at += length))
  while (at < message.length) {
    const tag = Number(varint())
    const kind = tag & 7
    const value =
      kind === 0 ? varint() : kind === 1 ? take(8) : kind === 5 ? take(4) : take(Number(varint()))
    fields.push({ number: tag >> 3, value })
  }
  return fields
}

function messages(message: Buffer, field: number): Buffer[] {
  return fieldsOf(message).flatMap(({ number: own, value }) =>
    own === field && typeof value !== 'bigint' ? [value] : [],
  )
}

function bytesOf(fields: Field[], field: number): Buffer {
  const value = fields.find((own) => own.number === field)?.value
  return typeof value === 'object' ? value : EMPTY
}

function hex(fields: Field[], field: number): string {
  return bytesOf(fields, field).toString('hex')
}

function text(fields: Field[], field: number): string {
  return bytesOf(fields, field).toString()
}

function fixed(fields: Field[], field: number): bigint {
  return bytesOf(fields, field).readBigUInt64LE()
}

function number(fields: Field[], field: number): number {
  const value = fields.find((own) => own.number === field)?.value
  return typeof value === 'bigint' ? Number(value) : 0
}

function msOf(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000n) / 1_000
}
