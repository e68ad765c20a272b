import fc from 'fast-check'
import { expect, test } from 'vitest'

import { decodeFrame, encodeFrame, type Frame, ProtocolError } from './frames.ts'
import { DATA_BYTES_MAX, FRAME_BYTES_MAX } from './protocol.ts'

const PHASES = { dnsMs: null, connectMs: 1.5, tlsMs: null, firstByteMs: 2, totalMs: 3 }
const stream = fc.integer({ min: 1, max: 0xffff_ffff })
const header = fc.tuple(fc.string({ maxLength: 50 }), fc.string({ maxLength: 200 }))
const headers = fc.array(header, { maxLength: 20 })
const bytes = fc.uint8Array({ maxLength: DATA_BYTES_MAX })

const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    kind: fc.constant('settings' as const),
    settings: fc.record({
      name: fc.string({ maxLength: 20 }),
      streamsMax: fc.integer({ min: 1, max: 64 }),
      allowedHosts: fc.array(fc.string({ maxLength: 30 }), { maxLength: 3 }),
    }),
  }),
  fc.record({
    kind: fc.constant('request' as const),
    stream,
    head: fc.record({
      attemptId: fc.uuid(),
      method: fc.constantFrom('POST', 'PUT', 'PATCH'),
      url: fc.webUrl(),
      headers,
      bodyBytes: fc.nat(),
      timeoutMs: fc.integer({ min: 1, max: 60_000 }),
    }),
  }),
  fc.record({
    kind: fc.constant('data' as const),
    stream,
    bytes: fc.uint8Array({ minLength: 1, maxLength: DATA_BYTES_MAX }),
  }),
  fc.record({ kind: fc.constantFrom('end' as const, 'cancel' as const), stream }),
  fc.record({
    kind: fc.constant('credit' as const),
    stream: fc.oneof(fc.constant(0), stream),
    bytes: fc.integer({ min: 1, max: 0x7fff_ffff }),
  }),
  fc.record({
    kind: fc.constant('response' as const),
    stream,
    head: fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      headers,
      phases: fc.constant(PHASES),
    }),
    body: bytes,
  }),
  fc.record({
    kind: fc.constant('failure' as const),
    stream,
    failure: fc.record({
      code: fc.constantFrom('timeout' as const, 'refused' as const),
      message: fc.string({ maxLength: 100 }),
      isUnsent: fc.boolean(),
      phases: fc.constant(PHASES),
    }),
  }),
  fc.record({ kind: fc.constant('going_away' as const), reason: fc.constant('restart') }),
)

/** Frames with their bytes as plain arrays, to compare Buffers with Uint8Arrays. */
function plain(value: Frame): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) =>
      item instanceof Uint8Array ? [...item] : (bufferOf(item) ?? item),
    ),
  )
}

/** A Buffer has turned itself into `{ type, data }` before the replacer sees it. */
function bufferOf(item: unknown): unknown {
  const isBuffer = typeof item === 'object' && item !== null && 'data' in item && 'type' in item
  return isBuffer ? item.data : undefined
}

test('decodeFrame() gives what encodeFrame() was given', () => {
  fc.assert(
    fc.property(frame, (sent) => {
      expect(plain(decodeFrame(encodeFrame(sent)))).toEqual(plain(sent))
    }),
    { numRuns: 500 },
  )
})

test('decodeFrame() takes any bytes for a frame or for a ProtocolError', () => {
  const decoded = (input: Uint8Array): unknown => {
    try {
      return decodeFrame(Buffer.from(input))
    } catch (error) {
      if (error instanceof ProtocolError) return error
      throw error
    }
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (input) => {
      expect(decoded(input)).toBeDefined()
    }),
    { numRuns: 2_000 },
  )
  // A valid frame with some bytes changed comes further into the decoder.
  fc.assert(
    fc.property(
      frame,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      (sent, hits) => {
        const input = encodeFrame(sent)
        for (const [at, value] of hits) input[at % input.length] = value
        expect(decoded(input)).toBeDefined()
      },
    ),
    { numRuns: 2_000 },
  )
})

test.for<[title: string, input: Buffer, message: string]>([
  ['nothing', Buffer.alloc(0), 'shorter than its header'],
  ['a header cut short', Buffer.from([4, 0, 0, 0]), 'shorter than its header'],
  ['an unknown kind', Buffer.from([99, 0, 0, 0, 1]), 'unknown kind'],
  ['data of no stream', Buffer.from([4, 0, 0, 0, 0, 1]), 'data names no stream'],
  ['settings of a stream', Buffer.from([1, 0, 0, 0, 1]), 'settings names a stream'],
  ['empty data', Buffer.from([4, 0, 0, 0, 1]), 'data is empty'],
  [
    'data over its limit',
    Buffer.concat([Buffer.from([4, 0, 0, 0, 1]), Buffer.alloc(DATA_BYTES_MAX + 1)]),
    'data is too large',
  ],
  ['an end with a payload', Buffer.from([5, 0, 0, 0, 1, 0]), 'end has a payload'],
  ['no credit', Buffer.from([7, 0, 0, 0, 1, 0, 0, 0, 0]), 'credit is out of range'],
  [
    'a credit past 31 bits',
    Buffer.from([7, 0, 0, 0, 1, 255, 255, 255, 255]),
    'credit is out of range',
  ],
  ['a credit of 3 bytes', Buffer.from([7, 0, 0, 0, 1, 0, 0, 1]), 'credit is not 4 bytes'],
  ['a request that is no JSON', Buffer.from([3, 0, 0, 0, 1, 123]), 'request is not JSON'],
  ['a request without members', Buffer.from([3, 0, 0, 0, 1, 123, 125]), 'request: attemptId'],
  [
    'a response shorter than its head',
    Buffer.from([8, 0, 0, 0, 1, 0, 0, 0, 9, 123]),
    'shorter than its head',
  ],
  ['a frame over the limit', Buffer.alloc(FRAME_BYTES_MAX + 1, 4), 'Frame is too large'],
])('decodeFrame() refuses %s', ([, input, message]) => {
  expect(() => decodeFrame(input)).toThrow(message)
})

test('encodeFrame() refuses an answer that no frame can hold', () => {
  const head = { status: 200, headers: [], phases: PHASES }
  const body = new Uint8Array(FRAME_BYTES_MAX)
  expect(() => encodeFrame({ kind: 'response', stream: 1, head, body })).toThrow('too large')
})
