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
const HEADERS = '[["X-Näme","a \\"quoted\\" välue"]]'

test('unpackDeliveries() returns what was packed, byte for byte and in order', () => {
  const bodies = [Buffer.from([0xff, 0xfe, 0x01, 0x7b]), Buffer.alloc(0), Buffer.alloc(8)]
  const events = bodies.map((body) => encodeEvent({ ...EVENT, headers: HEADERS }, body))
  const packed = packDeliveries(events.map((event) => encodeDelivery(event, DELIVERY)))
  expect(unpackDeliveries(packed)).toEqual(
    bodies.map((body) => ({
      event: { ...EVENT, hasBody: true },
      delivery: DELIVERY,
      headers: HEADERS,
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

test('unpackDeliveries() refuses what is not a message, or not all of one', () => {
  expect(() => unpackDeliveries(Buffer.from('\0\0\0\0{}'))).toThrow('another version')
  expect(() => unpackDeliveries(Buffer.from('\0\0\0\x01'))).toThrow('empty')
  const nothing = { meta: '{}', headers: '[]', body: Buffer.alloc(0) }
  expect(() => unpackDeliveries(packDeliveries([encodeDelivery(nothing, DELIVERY)]))).toThrow('id')
  const event = encodeEvent({ ...EVENT, headers: '[]' }, Buffer.from('body'))
  const packed = packDeliveries([encodeDelivery(event, DELIVERY)])
  for (const cut of [1, 4, 5]) {
    expect(() => unpackDeliveries(packed.subarray(0, packed.length - cut))).toThrow(/cut off/)
  }
  expect(() => unpackDeliveries(packed.subarray(0, 15))).toThrow(RangeError)
})
