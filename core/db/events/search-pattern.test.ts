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
      fc.constantFrom(...Array.from('aZ 0"\\/\b\n\t\r\f%_+.*?()[]{}|^$-<>&éßÄ\u{1f600}中')),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .filter((letters) => letters.every((letter) => letter !== '\0' && letter.isWellFormed()))

const CUT = fc.tuple(fc.nat(11), fc.integer({ min: 1, max: 12 }), fc.nat(4_095))

/** JSON in a field of a form. */
function inBoth(letter: string): string[] {
  return inJson(letter).flatMap((one) => [encodeURIComponent(one), ...inForm(one).slice(0, 1)])
}

const WAYS: [where: string, writing: Writing, ways: (letter: string) => string[]][] = [
  ['a JSON string', 'json', inJson],
  ['a field of a form', 'form', inForm],
  ['a JSON string in a form', 'form', inBoth],
]

test.each(WAYS)(
  'a part of %s is found however its characters are written',
  (_where, writing, ways) => {
    const isFound = (
      letters: string[],
      [from, length, seed]: [number, number, number],
    ): boolean => {
      const write = (letter: string, n: number) => ways(letter)[(seed >> n) % ways(letter).length]
      const body = letters.map(write).join('')
      const first = from % letters.length
      const term = letters.slice(first, first + length).join('')
      const isMarked = marksOf(term, writing).some((mark) => body.includes(mark))
      return (
        body.includes(term) || (isMarked && new RegExp(patternOf(term, writing), 'i').test(body))
      )
    }
    expect(() => fc.assert(fc.property(LETTERS, CUT, isFound), { numRuns: 500 })).not.toThrow()
  },
)
