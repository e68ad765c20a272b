import { z } from 'zod'

import { MESSAGE_BODY_BYTES_MAX } from '../limits.ts'

const Meta = z.object({
  event: z.object({
    id: z.string(),
    class: z.number(),
    organisationId: z.string(),
    projectId: z.string(),
    /** Absent from a message of a version that did not count by source. */
    sourceId: z.string().optional(),
    sourceName: z.string(),
    verifiedWith: z.string(),
    remoteIp: z.string(),
    headers: z.custom<[string, string][]>(areHeaders),
    /** False when the body was too large to travel: the worker reads the row. */
    hasBody: z.boolean(),
  }),
  delivery: z.object({
    id: z.string(),
    connectionId: z.string(),
    destinationId: z.string(),
    partition: z.number(),
    maxAttempts: z.number(),
    leaseUntilMs: z.number(),
  }),
})

/** The first bytes of a message; one of the version before begins with a length that is not 0. */
const PACK = Buffer.alloc(4)

/** Bytes of the two lengths before a delivery. */
const LENGTHS = 8

/** A delivery on its way to a worker: all it needs, so that nothing is read before the first attempt. */
export type DeliveryMessage = z.infer<typeof Meta> & { body: Buffer }

type EventMeta = DeliveryMessage['event']

/** The part that all deliveries of one event share, made once. `headers` is the JSON that is stored, not parsed again. */
export interface EncodedEvent {
  meta: string
  body: Buffer
}

export function encodeEvent(
  event: Omit<EventMeta, 'headers' | 'hasBody'> & { headers: string },
  body: Buffer,
): EncodedEvent {
  const { headers, ...rest } = event
  const hasBody = body.length <= MESSAGE_BODY_BYTES_MAX
  const meta = `${JSON.stringify({ ...rest, hasBody }).slice(0, -1)},"headers":${headers}}`
  return { meta, body: hasBody ? body : Buffer.alloc(0) }
}

/** Layout: lengths of the JSON and of the body (4 bytes each), JSON, body. The body travels as the bytes it came in. */
export function encodeDelivery(event: EncodedEvent, delivery: DeliveryMessage['delivery']): Buffer {
  const meta = `{"event":${event.meta},"delivery":${JSON.stringify(delivery)}}`
  const metaBytes = Buffer.byteLength(meta)
  const encoded = Buffer.allocUnsafe(LENGTHS + metaBytes + event.body.length)
  encoded.writeUInt32BE(metaBytes, 0)
  encoded.writeUInt32BE(event.body.length, 4)
  encoded.write(meta, LENGTHS)
  event.body.copy(encoded, LENGTHS + metaBytes)
  return encoded
}

/** One message of several deliveries of one partition. */
export function packDeliveries(encoded: readonly Buffer[]): Buffer {
  return Buffer.concat([PACK, ...encoded])
}

/**
 * The deliveries of a message. Throws when the bytes are not a message of ours. Of several each has its body for itself:
 * one that takes long must not keep the others' in memory.
 */
export function unpackDeliveries(data: Uint8Array): DeliveryMessage[] {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (!message.subarray(0, PACK.length).equals(PACK)) return [decodeFormer(message)]
  if (message.length === PACK.length) throw new Error('The message is empty')
  const deliveries: DeliveryMessage[] = []
  for (let at = PACK.length; at < message.length;) {
    const metaAt = at + LENGTHS
    const bodyAt = metaAt + message.readUInt32BE(at)
    const end = bodyAt + message.readUInt32BE(at + 4)
    if (end > message.length) throw new Error('The message is cut off')
    const body = message.subarray(bodyAt, end)
    const isOnly = at === PACK.length && end === message.length
    deliveries.push({
      ...metaIn(message, metaAt, bodyAt),
      body: isOnly ? body : Buffer.from(body),
    })
    at = end
  }
  return deliveries
}

/** Of the version before, whose messages held one delivery: the length of the JSON, JSON, body. */
function decodeFormer(message: Buffer): DeliveryMessage {
  const bodyAt = 4 + message.readUInt32BE(0)
  return { ...metaIn(message, 4, bodyAt), body: message.subarray(bodyAt) }
}

/** Checked by hand: a schema makes each pair anew, of some ten headers a message. */
function areHeaders(given: unknown): boolean {
  return Array.isArray(given) && given.every(isHeader)
}

function isHeader(given: unknown): boolean {
  return (
    Array.isArray(given) &&
    given.length === 2 &&
    typeof given[0] === 'string' &&
    typeof given[1] === 'string'
  )
}

function metaIn(message: Buffer, from: number, to: number): z.infer<typeof Meta> {
  const meta: unknown = JSON.parse(message.toString('utf8', from, to))
  return Meta.parse(meta)
}
