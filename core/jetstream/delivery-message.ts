import { z } from 'zod'

import { MESSAGE_BODY_BYTES_MAX } from '../limits.ts'

const Meta = z.object({
  event: z.object({
    id: z.string(),
    class: z.number(),
    organisationId: z.string(),
    projectId: z.string(),
    sourceId: z.string(),
    sourceName: z.string(),
    verifiedWith: z.string(),
    remoteIp: z.string(),
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

/** The first bytes of a message. Other first bytes mean another version. */
const LAYOUT = Buffer.from([0, 0, 0, 1])

/** Bytes of the three lengths before a delivery. */
const LENGTHS = 12

/**
 * A delivery on its way to a worker: all it needs, so that nothing is read before the first attempt. `headers` is the JSON
 * that is stored: hundreds wait in a worker's memory, where it is one text and not a score of objects.
 */
export type DeliveryMessage = z.infer<typeof Meta> & { headers: string; body: Buffer }

/** The part that all deliveries of one event share, made once. */
export interface EncodedEvent {
  meta: string
  headers: string
  body: Buffer
}

export function encodeEvent(
  { headers, ...event }: Omit<DeliveryMessage['event'], 'hasBody'> & { headers: string },
  body: Buffer,
): EncodedEvent {
  const hasBody = body.length <= MESSAGE_BODY_BYTES_MAX
  const meta = JSON.stringify({ ...event, hasBody })
  return { meta, headers, body: hasBody ? body : Buffer.alloc(0) }
}

/**
 * Layout: lengths of the JSON, the headers and the body (4 bytes each), then these. The body travels as the bytes it came
 * in.
 */
export function encodeDelivery(event: EncodedEvent, delivery: DeliveryMessage['delivery']): Buffer {
  const { headers, body } = event
  const meta = `{"event":${event.meta},"delivery":${JSON.stringify(delivery)}}`
  const metaBytes = Buffer.byteLength(meta)
  const headersBytes = Buffer.byteLength(headers)
  const headersAt = LENGTHS + metaBytes
  const encoded = Buffer.allocUnsafe(headersAt + headersBytes + body.length)
  encoded.writeUInt32BE(metaBytes, 0)
  encoded.writeUInt32BE(headersBytes, 4)
  encoded.writeUInt32BE(body.length, 8)
  encoded.write(meta, LENGTHS)
  encoded.write(headers, headersAt)
  body.copy(encoded, headersAt + headersBytes)
  return encoded
}

/** Packs several deliveries of one partition into a message. */
export function packDeliveries(encoded: readonly Buffer[]): Buffer {
  return Buffer.concat([LAYOUT, ...encoded])
}

/**
 * The deliveries of a message. Throws when the bytes are not a message of this version: the sweep brings its deliveries
 * back by their rows. Each delivery gets a copy of its body, so
 * that a slow delivery does not keep the others' bodies in memory.
 */
export function unpackDeliveries(data: Uint8Array): DeliveryMessage[] {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (!message.subarray(0, LAYOUT.length).equals(LAYOUT)) {
    throw new Error('The message is of another version')
  }
  if (message.length === LAYOUT.length) throw new Error('The message is empty')
  const deliveries: DeliveryMessage[] = []
  for (let at = LAYOUT.length; at < message.length;) {
    const metaAt = at + LENGTHS
    const headersAt = metaAt + message.readUInt32BE(at)
    const bodyAt = headersAt + message.readUInt32BE(at + 4)
    const end = bodyAt + message.readUInt32BE(at + 8)
    if (end > message.length) throw new Error('The message is cut off')
    const meta: unknown = JSON.parse(message.toString('utf8', metaAt, headersAt))
    const { event, delivery } = Meta.parse(meta)
    const headers = message.toString('utf8', headersAt, bodyAt)
    const body = message.subarray(bodyAt, end)
    const isOnly = at === LAYOUT.length && end === message.length
    deliveries.push({ event, delivery, headers, body: isOnly ? body : Buffer.from(body) })
    at = end
  }
  return deliveries
}
