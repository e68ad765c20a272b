import { z } from 'zod'

import { Failure, RequestHead, ResponseHead, STREAM_WINDOW_BYTES } from './protocol.ts'

/*
 * How a worker gives a request to a gateway over NATS: one message to the connector's subject, an `accepted` from the
 * gateway that has it, and one outcome. A body larger than a piece is asked for piece by piece.
 */

/** Bytes of a body in one message: below the smallest `max_payload` that NATS is run with. */
export const PIECE_BYTES = 256 * 1024
/** Bytes that go along with the call, unasked: as many as an agent gets without credit. */
const FIRST_PIECE_BYTES = STREAM_WINDOW_BYTES

const CallHead = z.strictObject({
  connectorId: z.string(),
  request: RequestHead,
})

const Asked = z.strictObject({ offset: z.int().min(0) })

const Reply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('accepted'), gateway: z.string() }),
  z.object({ kind: z.literal('response'), replicaId: z.string(), head: ResponseHead }),
  z.object({ kind: z.literal('failure'), replicaId: z.string(), failure: Failure }),
  /** The destination certainly did not get the whole request. `isFull`: the connector is online and has no room. */
  z.object({ kind: z.literal('unsent'), isFull: z.boolean() }),
  /** The agent gave no answer in time, not even that the destination gave none. */
  z.object({ kind: z.literal('silent'), replicaId: z.string() }),
  /** The session ended before the answer: the destination may have the request. */
  z.object({ kind: z.literal('lost'), replicaId: z.string() }),
])

export type CallHead = z.infer<typeof CallHead>
export type Reply = z.infer<typeof Reply>

const LENGTH_BYTES = 4
const EMPTY = Buffer.alloc(0)

/** Any gateway with a session of the connector gets one of the messages to this subject. */
export function callSubject(connectorId: string): string {
  return `tunnel.call.${connectorId}`
}

/** The first piece of the body goes along. */
export function encodeCall(head: CallHead, body: Uint8Array): Buffer {
  return pack(head, body.subarray(0, FIRST_PIECE_BYTES))
}

/** Undefined for what another version says in other words. */
export function decodeCall(data: Uint8Array): { head: CallHead; piece: Buffer } | undefined {
  const unpacked = unpack(data)
  const head = CallHead.safeParse(unpacked?.head)
  return head.success && unpacked !== undefined
    ? { head: head.data, piece: unpacked.rest }
    : undefined
}

export function encodeAsked(offset: number): string {
  return JSON.stringify({ offset })
}

export function decodeAsked(data: Uint8Array): number | undefined {
  const asked = Asked.safeParse(parse(Buffer.from(data)))
  return asked.data?.offset
}

export function encodeReply(reply: Reply, body: Uint8Array = EMPTY): Buffer {
  return pack(reply, body)
}

export function decodeReply(data: Uint8Array): { reply: Reply; body: Buffer } | undefined {
  const unpacked = unpack(data)
  const reply = Reply.safeParse(unpacked?.head)
  return reply.success && unpacked !== undefined
    ? { reply: reply.data, body: unpacked.rest }
    : undefined
}

/** Length of the JSON, the JSON, bytes. */
function pack(head: object, rest: Uint8Array): Buffer {
  const json = Buffer.from(JSON.stringify(head))
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json, rest])
}

function unpack(data: Uint8Array): { head: unknown; rest: Buffer } | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (bytes.length < LENGTH_BYTES) return undefined
  const restAt = LENGTH_BYTES + bytes.readUInt32BE(0)
  if (restAt > bytes.length) return undefined
  return { head: parse(bytes.subarray(LENGTH_BYTES, restAt)), rest: bytes.subarray(restAt) }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
