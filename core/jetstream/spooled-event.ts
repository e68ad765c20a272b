import { z } from 'zod'

const Meta = z.object({
  id: z.string(),
  class: z.number(),
  organisationId: z.string(),
  projectId: z.string(),
  sourceId: z.string(),
  sourceName: z.string(),
  /** The address that took it: its source's quota is looked up when the event is stored. */
  maskId: z.string(),
  status: z.enum(['received', 'filtered', 'unmatched']),
  eventType: z.string().nullable(),
  /** Hexadecimal. */
  dedupeKey: z.string().nullable(),
  verifiedWith: z.string(),
  method: z.string(),
  path: z.string(),
  query: z.string(),
  /** JSON, as it is stored. */
  headers: z.string(),
  contentType: z.string().nullable(),
  isBinary: z.boolean(),
  remoteIp: z.string(),
  /** JSON, as it is stored. */
  outcomes: z.string().nullable(),
  verifiedUs: z.number(),
  matchedUs: z.number(),
  deliveries: z.array(
    z.object({
      connectionId: z.string(),
      destinationId: z.string(),
      maxAttempts: z.number(),
      partition: z.number(),
    }),
  ),
})

/** An event that was accepted while PostgreSQL was away: all of it, matched when it came. Its deliveries have no ids yet. */
export type SpooledEvent = z.infer<typeof Meta> & { raw: Buffer }

/** Layout: length of the JSON (4 bytes), JSON, body. The body stays the bytes it came in. */
export function encodeSpooled({ raw, ...meta }: SpooledEvent): Buffer {
  const json = Buffer.from(JSON.stringify(meta))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(json.length, 0)
  return Buffer.concat([length, json, raw])
}

/** Throws when the bytes are not an event of ours. */
export function decodeSpooled(data: Uint8Array): SpooledEvent {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const end = 4 + message.readUInt32BE(0)
  const meta: unknown = JSON.parse(message.toString('utf8', 4, end))
  return { ...Meta.parse(meta), raw: message.subarray(end) }
}
