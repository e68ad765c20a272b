import { expect, test } from 'vitest'

import { textParts } from './json-parts.ts'

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
