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
  /** Bytes of the source of a mail; null when it is none. */
  mailBytes: z.number().nullable().default(null),
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
export type SpooledEvent = Omit<z.infer<typeof Meta>, 'mailBytes'> & {
  raw: Buffer
  mail: Buffer | null
}

/** Layout: length of the JSON (4 bytes), JSON, source of a mail, body. Both stay the bytes they came in. */
export function encodeSpooled({ raw, mail, ...meta }: SpooledEvent): Buffer {
  const json = Buffer.from(JSON.stringify({ ...meta, mailBytes: mail?.length ?? null }))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(json.length, 0)
  return Buffer.concat(mail === null ? [length, json, raw] : [length, json, mail, raw])
}

/** Throws when the bytes are not an event of ours. */
export function decodeSpooled(data: Uint8Array): SpooledEvent {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const end = 4 + message.readUInt32BE(0)
  const { mailBytes, ...meta } = Meta.parse(JSON.parse(message.toString('utf8', 4, end)))
  const bodyAt = end + (mailBytes ?? 0)
  const mail = mailBytes === null ? null : message.subarray(end, bodyAt)
  return { ...meta, mail, raw: message.subarray(bodyAt) }
}
