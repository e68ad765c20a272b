import type { z } from 'zod'

import {
  DATA_BYTES_MAX,
  Failure,
  FRAME_BYTES_MAX,
  RequestHead,
  ResponseHead,
  Settings,
} from './protocol.ts'

/** A binary WebSocket message. Stream 0 is the session itself. */
export type Frame =
  | { kind: 'settings'; settings: Settings }
  | { kind: 'going_away'; reason: string }
  | { kind: 'request'; stream: number; head: RequestHead }
  | { kind: 'data'; stream: number; bytes: Uint8Array }
  | { kind: 'end'; stream: number }
  | { kind: 'cancel'; stream: number }
  | { kind: 'credit'; stream: number; bytes: number }
  | { kind: 'response'; stream: number; head: ResponseHead; body: Uint8Array }
  | { kind: 'failure'; stream: number; failure: Failure }

/** The other side sent what the protocol does not allow: the session ends with this text. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/*
 * type (1 byte), stream (4 bytes, big-endian), payload:
 *   settings, request, failure   JSON
 *   going_away                   UTF-8 text
 *   data                         bytes of the body
 *   end, cancel                  nothing
 *   credit                       4 bytes, big-endian
 *   response                     length of the head (4 bytes, big-endian), head as JSON, bytes of the body
 */
const TYPE = {
  settings: 1,
  going_away: 2,
  request: 3,
  data: 4,
  end: 5,
  cancel: 6,
  credit: 7,
  response: 8,
  failure: 9,
} as const

const KINDS: ReadonlyMap<number, keyof typeof TYPE> = new Map([
  [TYPE.settings, 'settings'],
  [TYPE.going_away, 'going_away'],
  [TYPE.request, 'request'],
  [TYPE.data, 'data'],
  [TYPE.end, 'end'],
  [TYPE.cancel, 'cancel'],
  [TYPE.credit, 'credit'],
  [TYPE.response, 'response'],
  [TYPE.failure, 'failure'],
])
const HEADER_BYTES = 5
const LENGTH_BYTES = 4
const TEXT_LENGTH_MAX = 200
const CREDIT_MAX = 0x7fff_ffff
const EMPTY = Buffer.alloc(0)

/** Throws when the frame would be larger than the other side takes. */
export function encodeFrame(frame: Frame): Buffer {
  const payload = payloadOf(frame)
  const stream = 'stream' in frame ? frame.stream : 0
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  bytes.writeUInt8(TYPE[frame.kind], 0)
  bytes.writeUInt32BE(stream, 1)
  bytes.set(payload, HEADER_BYTES)
  if (bytes.length > FRAME_BYTES_MAX) throw new Error(`Frame of ${bytes.length} bytes is too large`)
  return bytes
}

/** `data` and bodies share memory with `bytes`. Throws a `ProtocolError` that says what is wrong. */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes.length < HEADER_BYTES) throw new ProtocolError('Frame is shorter than its header')
  if (bytes.length > FRAME_BYTES_MAX) throw new ProtocolError('Frame is too large')
  const kind = KINDS.get(bytes.readUInt8(0))
  const stream = bytes.readUInt32BE(1)
  const payload = bytes.subarray(HEADER_BYTES)
  const isSession = stream === 0
  if (kind === 'settings' || kind === 'going_away') {
    if (!isSession) throw new ProtocolError(`${kind} names a stream`)
  } else if (isSession && kind !== 'credit') {
    throw new ProtocolError(`${kind ?? 'Frame of an unknown kind'} names no stream`)
  }
  switch (kind) {
    case undefined:
      throw new ProtocolError('Frame of an unknown kind')
    case 'settings':
      return { kind, settings: parse(Settings, payload, kind) }
    case 'going_away':
      return { kind, reason: payload.toString('utf8', 0, TEXT_LENGTH_MAX) }
    case 'request':
      return { kind, stream, head: parse(RequestHead, payload, kind) }
    case 'data':
      if (payload.length === 0) throw new ProtocolError('data is empty')
      if (payload.length > DATA_BYTES_MAX) throw new ProtocolError('data is too large')
      return { kind, stream, bytes: payload }
    case 'end':
    case 'cancel':
      if (payload.length > 0) throw new ProtocolError(`${kind} has a payload`)
      return { kind, stream }
    case 'credit':
      return { kind, stream, bytes: readCredit(payload) }
    case 'response':
      return { kind, stream, ...readResponse(payload) }
    case 'failure':
      return { kind, stream, failure: parse(Failure, payload, kind) }
  }
}

function payloadOf(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case 'settings':
      return Buffer.from(JSON.stringify(frame.settings))
    case 'going_away':
      return Buffer.from(frame.reason.slice(0, TEXT_LENGTH_MAX))
    case 'request':
      return Buffer.from(JSON.stringify(frame.head))
    case 'data':
      return frame.bytes
    case 'end':
    case 'cancel':
      return EMPTY
    case 'credit': {
      const payload = Buffer.allocUnsafe(LENGTH_BYTES)
      payload.writeUInt32BE(frame.bytes)
      return payload
    }
    case 'response': {
      const head = Buffer.from(JSON.stringify(frame.head))
      const length = Buffer.allocUnsafe(LENGTH_BYTES)
      length.writeUInt32BE(head.length)
      return Buffer.concat([length, head, frame.body])
    }
    case 'failure':
      return Buffer.from(JSON.stringify(frame.failure))
  }
}

function readCredit(payload: Buffer): number {
  if (payload.length !== LENGTH_BYTES) throw new ProtocolError('credit is not 4 bytes')
  const bytes = payload.readUInt32BE()
  if (bytes === 0 || bytes > CREDIT_MAX) throw new ProtocolError('credit is out of range')
  return bytes
}

function readResponse(payload: Buffer): { head: ResponseHead; body: Uint8Array } {
  if (payload.length < LENGTH_BYTES) throw new ProtocolError('response has no head')
  const headBytes = payload.readUInt32BE()
  const bodyAt = LENGTH_BYTES + headBytes
  if (bodyAt > payload.length) throw new ProtocolError('response is shorter than its head')
  const head = parse(ResponseHead, payload.subarray(LENGTH_BYTES, bodyAt), 'response')
  return { head, body: payload.subarray(bodyAt) }
}

function parse<T>(schema: z.ZodType<T>, payload: Buffer, kind: string): T {
  let value: unknown
  try {
    value = JSON.parse(payload.toString('utf8'))
  } catch {
    throw new ProtocolError(`${kind} is not JSON`)
  }
  const { data, error } = schema.safeParse(value)
  if (error !== undefined) {
    const [issue] = error.issues
    throw new ProtocolError(`${kind}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`)
  }
  return data
}
