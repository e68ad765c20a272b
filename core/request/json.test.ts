import fc from 'fast-check'
import { expect, test } from 'vitest'

import { JSON_DEPTH_MAX } from '../limits.ts'
import { compareDecimals } from './decimal.ts'
import { ExactNumber, parseDocument, parseExactJson, parseJson } from './json.ts'

/** The number's text, however it is kept. */
function textOf(value: unknown): string {
  return value instanceof ExactNumber ? value.text : String(value)
}

const digits = fc.stringMatching(/^\d{1,25}$/)
const spelling = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits.map((text) => text.replace(/^0+(?=.)/, '')),
    ),
    fc.option(fc.oneof(digits, fc.constantFrom('0', '50', '000000', '0000001')), {
      nil: undefined,
    }),
    fc.option(fc.stringMatching(/^[eE][-+]?\d{1,3}$/), { nil: undefined }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent ?? ''}`,
  )

test('a number keeps its text, wherever it stands', () => {
  const around = fc.constantFrom<[string, string]>(
    ['', ''],
    ['[', ']'],
    ['[1, ', ']'],
    ['{"a": ', '}'],
    ['{"a":\n', ',"b":"x"}'],
    ['["1.0 ",', ',[]]'],
  )
  fc.assert(
    fc.property(spelling, around, (text, [before, after]) => {
      expect(JSON.stringify(parseJson(before + text + after))).toBe(
        (before + text + after).replaceAll(/(?<!")[ \n](?!")/g, ''),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('parseExactJson() keeps a text only where the number would be another', () => {
  fc.assert(
    fc.property(spelling, (text) => {
      const value = parseExactJson(text)
      const isSame =
        Number.isFinite(Number(text)) && compareDecimals(text, String(Number(text))) === 0
      expect(value instanceof ExactNumber).toBe(!isSame)
      expect(compareDecimals(textOf(value), text)).toBe(0)
    }),
    { numRuns: 2_000 },
  )
  expect(['1.0', '1e2', '-0', '0.1', '0.10'].map(parseExactJson)).toEqual([1, 100, -0, 0.1, 0.1])
  expect(parseExactJson('9007199254740993')).toBeInstanceOf(ExactNumber)
  expect(parseExactJson('1e400')).toBeInstanceOf(ExactNumber)
})

test('a text with an unusual number reads as JSON.parse reads it otherwise', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(0, 1, '\t'), (json, space) => {
      const text = JSON.stringify([JSON.parse(json), 0.5], null, space).replace(
        /0\.5(?=\s*\]$)/,
        '1e400',
      )
      const plain: unknown = JSON.parse(text.replace(/1e400(?=\s*\]$)/, '0.5'))
      const read = parseJson(text)
      expect(Array.isArray(read) && read[1]).toBeInstanceOf(ExactNumber)
      expect(JSON.parse(JSON.stringify(read).replace(/1e400\]$/, '0.5]'))).toEqual(plain)
    }),
    { numRuns: 100 },
  )
})

test.for(['{"a":1', '1.', '01', '+1', '.5', '1e', '[1.0,]', '"\u0001"', "{'a':1}", 'NaN'])(
  '%j is no JSON',
  (text) => {
    for (const parse of [parseJson, parseExactJson, parseDocument]) {
      expect(() => parse(text)).toThrow(SyntaxError)
    }
  },
)

test('JSON nested too deep to be written again is refused where it is long or has an unusual number', () => {
  const deep = (number: string, depth: number) => '['.repeat(depth) + number + ']'.repeat(depth)
  expect(JSON.stringify(parseJson(deep('1.0', JSON_DEPTH_MAX)))).toContain('[1.0]')
  expect(() => parseJson(deep('1.0', JSON_DEPTH_MAX + 1))).toThrow(RangeError)
  expect(() => parseJson(deep('1', 50_000))).not.toThrow()
  expect(() => parseJson(deep('1', 1_000_000))).toThrow(RangeError)
})

test('parseDocument() says which members an object has twice, and keeps the last', () => {
  const { value, repeated } = parseDocument(
    String.raw`{"a":1,"b":{"c":1,"\u0063":2},"a":[{"d":1},{"d":1,"d":{}}],"__proto__":0,"__proto__":1}`,
  )
  const namesAt = (...path: (string | number)[]): string[] => {
    const at = path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value)
    return [...(repeated.get(Object(at)) ?? [])]
  }
  expect(namesAt()).toEqual(['a', '__proto__'])
  expect(namesAt('b')).toEqual(['c'])
  expect(namesAt('a', 0)).toEqual([])
  expect(namesAt('a', 1)).toEqual(['d'])
  expect(value).toHaveProperty('b.c', 2)
})

test.for<[left: string, right: string, order: number]>([
  ['1.0', '1', 0],
  ['1e2', '100', 0],
  ['-0', '0.000e7', 0],
  ['0.1', '0.10', 0],
  ['7100000000000000123', '7100000000000000124', -1],
  ['-7100000000000000123', '-7100000000000000124', 1],
  ['1e400', '2e400', -1],
  ['1e400', '1.7e308', 1],
  ['-1e400', '1', -1],
  ['1e-400', '0', 1],
  ['0.1000000000000000055511151231257827', '0.1', 1],
  ['12', '9', 1],
  ['0.012', '0.12', -1],
  ['1e99999999999999999999', '1', 1],
])('compareDecimals(%s, %s) is %i', ([left, right, order]) => {
  expect(Math.sign(compareDecimals(left, right))).toBe(order)
  expect(Math.sign(compareDecimals(right, left))).toBe(-order || 0)
})

test('compareDecimals() orders integers as BigInt does, and doubles as they are', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
      expect(Math.sign(compareDecimals(String(a), String(b)))).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
  const double = fc.double({ noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(double, double, (a, b) => {
      expect(Math.sign(compareDecimals(String(a), String(b)))).toBe(a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})
