import { z } from 'zod'

import { MESSAGE_BODY_BYTES_MAX } from '../limits.ts'

const Header = z.tuple([z.string(), z.string()])

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
    headers: z.array(Header),
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

/** Layout: length of the JSON (4 bytes), JSON, body. The body travels as the bytes it came in. */
export function encodeDelivery(event: EncodedEvent, delivery: DeliveryMessage['delivery']): Buffer {
  const meta = `{"event":${event.meta},"delivery":${JSON.stringify(delivery)}}`
  const metaBytes = Buffer.byteLength(meta)
  const message = Buffer.allocUnsafe(4 + metaBytes + event.body.length)
  message.writeUInt32BE(metaBytes, 0)
  message.write(meta, 4)
  event.body.copy(message, 4 + metaBytes)
  return message
}

/** Throws when the bytes are not a message of ours. */
export function decodeDelivery(data: Uint8Array): DeliveryMessage {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const metaEnd = 4 + message.readUInt32BE(0)
  const meta: unknown = JSON.parse(message.toString('utf8', 4, metaEnd))
  return { ...Meta.parse(meta), body: message.subarray(metaEnd) }
}
