import { expect, test } from 'vitest'

import { MESSAGE_BODY_BYTES_MAX } from '../limits.ts'
import { decodeDelivery, encodeDelivery, encodeEvent } from './delivery-message.ts'

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

test('decodeDelivery() returns what encodeDelivery() took, byte for byte', () => {
  const body = Buffer.from([0xff, 0xfe, 0x01, 0x7b])
  const event = encodeEvent({ ...EVENT, headers: JSON.stringify(HEADERS) }, body)
  expect(decodeDelivery(encodeDelivery(event, DELIVERY))).toEqual({
    event: { ...EVENT, headers: HEADERS, hasBody: true },
    delivery: DELIVERY,
    body,
  })
})

test('encodeEvent() leaves a body above the limit to the row', () => {
  const headers = '[]'
  const largest = encodeEvent({ ...EVENT, headers }, Buffer.alloc(MESSAGE_BODY_BYTES_MAX))
  const larger = encodeEvent({ ...EVENT, headers }, Buffer.alloc(MESSAGE_BODY_BYTES_MAX + 1))
  expect(decodeDelivery(encodeDelivery(largest, DELIVERY)).event.hasBody).toBe(true)
  const message = decodeDelivery(encodeDelivery(larger, DELIVERY))
  expect(message.event.hasBody).toBe(false)
  expect(message.body).toHaveLength(0)
})

test('decodeDelivery() reads a message of the version before, which named no source', () => {
  const { sourceId: _left, ...event } = EVENT
  const meta = JSON.stringify({
    event: { ...event, headers: [], hasBody: true },
    delivery: DELIVERY,
  })
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(meta))
  const message = decodeDelivery(Buffer.concat([length, Buffer.from(meta)]))
  expect(message.event.sourceId).toBeUndefined()
})

test('decodeDelivery() refuses what is not a message', () => {
  expect(() => decodeDelivery(Buffer.from('\0\0\0\x02{}'))).toThrow('event')
})
