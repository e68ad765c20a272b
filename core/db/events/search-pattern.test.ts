import fc from 'fast-check'
import { expect, test } from 'vitest'

import { marksOf, patternOf, type Writing } from './search-pattern.ts'

/** The ways in which a character of a JSON string may be written. */
function inJson(letter: string): string[] {
  const escaped = JSON.stringify(letter).slice(1, -1)
  const unicode = Array.from(
    { length: letter.length },
    (_, n) => `\\u${letter.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('')
  const upper = unicode.replaceAll(/[a-f]/g, (digit) => digit.toUpperCase())
  return [escaped, unicode, upper, ...(letter === '/' ? [String.raw`\/`] : [])]
}

function inForm(letter: string): string[] {
  const encoded = new URLSearchParams([['', letter]]).toString().slice(1)
  const bytes = [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return [encoded, bytes.join(''), encodeURIComponent(letter)]
}

const LETTERS = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'aZ 0"\\/\b\n\t\r\f%_+.*?()[]{}|^$-<>&éßÄ', '\u{1f600}', '中'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .filter((letters) => letters.every((letter) => letter !== '\0' && letter.isWellFormed()))

function holds(
  [writing, ways]: [Writing, (letter: string) => string[]],
  letters: string[],
  [from, length, seed]: [number, number, number],
): void {
  const body = letters.map((letter, n) => ways(letter)[(seed >> n) % ways(letter).length]).join('')
  const term = letters.slice(from % letters.length, (from % letters.length) + length).join('')
  const isPlain = body.includes(term)
  const isMarked = marksOf(term, writing).some((mark) => body.includes(mark))
  const isFound = isMarked && new RegExp(patternOf(term, writing), 'i').test(body)
  expect(isPlain || isFound, `${term} in ${body}`).toBe(true)
}

const CUT = fc.tuple(fc.nat(11), fc.integer({ min: 1, max: 12 }), fc.nat(4_095))

test('a part of a JSON string is found however its characters are written', () => {
  fc.assert(fc.property(LETTERS, CUT, (letters, at) => holds(['json', inJson], letters, at)))
})

test('a part of a field of a form is found however its characters are written', () => {
  fc.assert(fc.property(LETTERS, CUT, (letters, at) => holds(['form', inForm], letters, at)))
})

test('a JSON string of a form is found however both are written', () => {
  const both = (letter: string): string[] => [
    ...inJson(letter).map((one) => encodeURIComponent(one)),
    ...inJson(letter).map((one) => new URLSearchParams([['', one]]).toString().slice(1)),
  ]
  fc.assert(fc.property(LETTERS, CUT, (letters, at) => holds(['form', both], letters, at)))
})
