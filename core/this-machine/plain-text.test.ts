import { expect, test } from 'vitest'

import { plainJson, plainText } from './plain-text.ts'

const SIGNS = [
  '\u001B[2J',
  '\u0007',
  '\u009B2J',
  '\u007F',
  '\u0000',
  '\u202E',
  '\u2028',
  '\u{E0001}',
  '\r',
]
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

test.for(SIGNS)('plainText() replaces the control characters of %j', (sign) => {
  expect(plainText(`a${sign}\nb`)).not.toMatch(FORBIDDEN)
  expect(plainText(`a${sign}\nb`, { keepsLines: true }).replaceAll('\n', '')).not.toMatch(FORBIDDEN)
  expect(plainText('a\nb', { keepsLines: true })).toBe('a\nb')
})

test.for(SIGNS)('plainJson() escapes the control characters of %j and loses nothing', (sign) => {
  const value = { name: `a${sign}b`, list: [1, 'ü'] }
  const text = plainJson(value)
  expect(text.replaceAll('\n', '')).not.toMatch(FORBIDDEN)
  expect(JSON.parse(text)).toEqual(value)
})
