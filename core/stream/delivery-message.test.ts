import { expect, test } from 'vitest'

import { MESSAGE_BODY_BYTES_MAX } from '../limits.ts'
import {
  encodeDelivery,
  encodeEvent,
  packDeliveries,
  unpackDeliveries,
} from './delivery-message.ts'

const EVENT = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  class: 90,
  organisationId: '01890a5d-ac96-774b-bcce-b302099a8058',
  projectId: '01890a5d-ac96-774b-bcce-b302099a8059',
  sourceId: '01890a5d-ac96-774b-bcce-b302099a8063',
  sourceName: 'Zoë "orders"',
  verifiedWith: 'github',
  remoteIp: '192.0.2.1',
}
const DELIVERY = {
  id: '01890a5d-ac96-774b-bcce-b302099a8060',
  connectionId: '01890a5d-ac96-774b-bcce-b302099a8061',
  destinationId: '01890a5d-ac96-774b-bcce-b302099a8062',
  partition: 7,
  maxAttempts: 8,
  leaseUntilMs: 1_800_000_000_000,
}
const HEADERS: [string, string][] = [['X-Näme', 'a "quoted" välue']]

test('unpackDeliveries() returns what was packed, byte for byte and in order', () => {
  const bodies = [Buffer.from([0xff, 0xfe, 0x01, 0x7b]), Buffer.alloc(0), Buffer.alloc(8)]
  const events = bodies.map((body) =>
    encodeEvent({ ...EVENT, headers: JSON.stringify(HEADERS) }, body),
  )
  const packed = packDeliveries(events.map((event) => encodeDelivery(event, DELIVERY)))
  expect(unpackDeliveries(packed)).toEqual(
    bodies.map((body) => ({
      event: { ...EVENT, headers: HEADERS, hasBody: true },
      delivery: DELIVERY,
      body,
    })),
  )
})

test('encodeEvent() leaves a body above the limit to the row', () => {
  const headers = '[]'
  const largest = encodeEvent({ ...EVENT, headers }, Buffer.alloc(MESSAGE_BODY_BYTES_MAX))
  const larger = encodeEvent({ ...EVENT, headers }, Buffer.alloc(MESSAGE_BODY_BYTES_MAX + 1))
  const [whole, without] = unpackDeliveries(
    packDeliveries([encodeDelivery(largest, DELIVERY), encodeDelivery(larger, DELIVERY)]),
  )
  expect(whole?.event.hasBody).toBe(true)
  expect(without).toMatchObject({ event: { hasBody: false }, body: Buffer.alloc(0) })
})

test('unpackDeliveries() reads a message of the version before: one delivery that named no source', () => {
  const { sourceId: _left, ...event } = EVENT
  const meta = JSON.stringify({
    event: { ...event, headers: [], hasBody: true },
    delivery: DELIVERY,
  })
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(meta))
  const body = Buffer.from('body')
  const [message, ...rest] = unpackDeliveries(Buffer.concat([length, Buffer.from(meta), body]))
  expect(message).toMatchObject({ delivery: DELIVERY, body })
  expect(message?.event.sourceId).toBeUndefined()
  expect(rest).toEqual([])
})

test.for([
  'no list',
  [['name', 'value'], ['name']],
  [['name', 'value', 'more']],
  [['name', 1]],
  [{ 0: 'name', 1: 'value', length: 2 }],
])('unpackDeliveries() refuses the headers %j', (headers) => {
  const event = encodeEvent({ ...EVENT, headers: JSON.stringify(headers) }, Buffer.from('{}'))
  expect(() => unpackDeliveries(packDeliveries([encodeDelivery(event, DELIVERY)]))).toThrow(
    'headers',
  )
})

test('unpackDeliveries() refuses what is not a message, or not all of one', () => {
  expect(() => unpackDeliveries(Buffer.from('\0\0\0\x02{}'))).toThrow('event')
  const event = encodeEvent({ ...EVENT, headers: '[]' }, Buffer.from('body'))
  const packed = packDeliveries([encodeDelivery(event, DELIVERY)])
  for (const cut of [1, 4, 5]) {
    expect(() => unpackDeliveries(packed.subarray(0, packed.length - cut))).toThrow(/cut off/)
  }
  expect(() => unpackDeliveries(packed.subarray(0, 7))).toThrow(RangeError)
})
