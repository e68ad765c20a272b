import { createHmac, randomBytes } from 'node:crypto'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { compileMac } from './mac.ts'

const ALGORITHMS = ['sha1', 'sha256', 'sha512'] as const

const part = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: fc.integer({ max: 255 }).map((code) => String.fromCharCode(code)) }),
)

test.each(ALGORITHMS)(
  'compileMac(%j) makes what createHmac makes, of any key and parts',
  (name) => {
    const bytes = fc.uint8Array({ maxLength: 200 })
    fc.assert(
      fc.property(bytes, fc.array(part, { maxLength: 4 }), (given, parts) => {
        const key = Buffer.from(given)
        expect(compileMac(name, key)(parts)).toEqual(expected(name, key, parts))
      }),
      { numRuns: 300 },
    )
  },
)

test.each([64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 5 * 1024 * 1024])(
  'compileMac() makes what createHmac makes of %d bytes, before and after others',
  (length) => {
    const key = randomBytes(32)
    const long = [randomBytes(length - 3), 'abc']
    const mac = compileMac('sha256', key)
    for (const parts of [long, ['a', Buffer.from('b')], long, []]) {
      expect(mac(parts)).toEqual(expected('sha256', key, parts))
    }
  },
)

test('macs of two keys made in turn do not touch each other', () => {
  const keys = [randomBytes(20), randomBytes(100)]
  const macs = keys.map((key) => compileMac('sha256', key))
  const first = macs.map((mac) => mac(['one']))
  const second = macs.map((mac) => mac(['two']))
  expect(first).toEqual(keys.map((key) => expected('sha256', key, ['one'])))
  expect(second).toEqual(keys.map((key) => expected('sha256', key, ['two'])))
})

function expected(algorithm: string, key: Buffer, parts: readonly (string | Buffer)[]): Buffer {
  const mac = createHmac(algorithm, key)
  for (const one of parts) mac.update(typeof one === 'string' ? Buffer.from(one, 'latin1') : one)
  return mac.digest()
}
