import fc from 'fast-check'
import { expect, test } from 'vitest'

import { bytesOfUuid } from '../../ids.ts'
import { timeArray, uuidArray } from './binary-arrays.ts'

/** Bytes of the array's header, and of the length before each item. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

test('timeArray() writes microseconds since 2000, before it too, as far as a number counts them exactly', () => {
  const ms = fc.integer({ min: Date.parse('1715-01-01'), max: Date.parse('2255-01-01') })
  fc.assert(
    fc.property(ms, fc.integer({ max: 999, min: 0 }), (whole, thousandths) => {
      const at = whole + thousandths / 1_000
      const written = timeArray([at]).readBigInt64BE(HEADER_BYTES + LENGTH_BYTES)
      expect(written).toBe(BigInt(Math.round(at * 1_000)) - 946_684_800_000_000n)
    }),
  )
})

test('uuidArray() writes each id, whichever came before it, also in an array before', () => {
  const ids = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058']
  const [first = '', second = ''] = ids
  for (const uuids of [[first, first, second], [second, first], [first]]) {
    const written = uuidArray(uuids)
    const bytes = uuids.map((_, n) =>
      written.subarray(HEADER_BYTES + n * 20 + LENGTH_BYTES, HEADER_BYTES + (n + 1) * 20),
    )
    expect(bytes).toEqual(uuids.map(bytesOfUuid))
  }
})
