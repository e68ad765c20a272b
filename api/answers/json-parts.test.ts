import fc from 'fast-check'
import { expect, test } from 'vitest'

import { jsonItems, textParts } from './json-parts.ts'

const PART = 64 * 1024

test.each([
  ['a character of four bytes that is cut', '😀'],
  ['a character and a byte too many', Buffer.concat([Buffer.from('😀'), Buffer.of(0x80)])],
  ['bytes that continue nothing', Buffer.alloc(9, 0x80)],
  ['the start of a character alone', Buffer.of(0xf0, 0x9f, 0x41)],
])('parts of a text are its text where %s is at the end of one', (_name, piece) => {
  const bytes = Buffer.from(piece)
  for (let before = 0; before <= bytes.length; before += 1) {
    const all = Buffer.concat([Buffer.alloc(PART - before, 'x'), bytes, Buffer.from('end')])
    expect([...textParts(all)].join('')).toBe(all.toString('utf8'))
  }
})

test('items of lists together are what JSON.stringify writes', () => {
  const plain = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant(undefined))
  const pairs = fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 2 })
  const record = <T>(value: fc.Arbitrary<T>) => fc.dictionary(fc.string(), value, { maxKeys: 3 })
  const listed = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 })
  const attempt = record(fc.oneof(plain, pairs))
  const delivery = record(fc.oneof(plain, listed(attempt), attempt, listed(plain)))
  const answer = record(fc.oneof(plain, listed(delivery)))
  fc.assert(
    fc.property(answer, (value) => {
      expect([...jsonItems(value)].join('')).toBe(JSON.stringify(value))
    }),
  )
})
