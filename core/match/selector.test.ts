import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { compileSelector, dedupeKey, readSelector, type Selectable, Selector } from './selector.ts'

const FROM: Selectable = {
  headers: { 'x-id': 'h1', 'x-empty': '', 'x-none': undefined },
  query: [
    ['id', 'q1'],
    ['id', 'q2'],
    ['a.b', 'q3'],
    ['Id', 'q4'],
  ],
  payload: () =>
    JSON.parse(`{
      "id": "b1", "empty": "", "number": 12.5, "zero": 0, "yes": true, "no": false, "none": null,
      "big": 9007199254740993, "safe": 9007199254740991, "__proto__": { "own": "data" },
      "items": [{ "id": 7 }, [["deep"]]], "object": { "0": "zero", "length": 3, "a-b c": "odd" }
    }`),
}

test.for<[text: string, value: string | undefined]>([
  ['header.x-id', 'h1'],
  ['header.X-Id', 'h1'],
  ['header.x-empty', ''],
  ['header.x-none', undefined],
  ['header.x-more', undefined],
  ['header.constructor', undefined],
  ['header.__proto__', undefined],
  ['query.id', 'q1'],
  ['query.Id', 'q4'],
  ['query.a.b', 'q3'],
  ['query.__proto__', undefined],
  ['body.id', 'b1'],
  ['body.empty', ''],
  ['body.number', '12.5'],
  ['body.zero', '0'],
  ['body.yes', 'true'],
  ['body.no', 'false'],
  ['body.none', undefined],
  ['body.safe', '9007199254740991'],
  ['body.big', undefined],
  ['body.items', undefined],
  ['body.object', undefined],
  ['body.items[0].id', '7'],
  ['body.items.[0].id', '7'],
  ['body.items[1][0][0]', 'deep'],
  ['body.items[2]', undefined],
  ['body.items.0.id', undefined],
  ['body.items.length', undefined],
  ['body.object.length', '3'],
  ['body.object.0', 'zero'],
  ['body.object[0]', undefined],
  ['body.object.a-b c', 'odd'],
  ['body.id.length', undefined],
  ['body.id[0]', undefined],
  ['body.none.id', undefined],
  ['body.constructor.name', undefined],
  ['body.toString', undefined],
  ['body.__proto__.own', 'data'],
  ['body.object.__proto__', undefined],
  ['body[0]', undefined],
])('readSelector() reads %s as %j', ([text, value]) => {
  expect(Selector.parse(text)).toBe(text)
  expect(readSelector(compileSelector(text), FROM)).toBe(value)
})

test('readSelector() reads a payload that is an array itself', () => {
  const from = { ...FROM, payload: () => [{ type: 'paid' }] }
  expect(readSelector(compileSelector('body[0].type'), from)).toBe('paid')
})

test('readSelector() parses the body for body selectors only', () => {
  let calls = 0
  const from = { ...FROM, payload: () => ++calls }
  readSelector(compileSelector('header.x-id'), from)
  readSelector(compileSelector('query.id'), from)
  expect(calls).toBe(0)
  readSelector(compileSelector('body.id'), from)
  expect(calls).toBe(1)
})

test.for([
  '',
  'id',
  'header',
  'header.',
  'header.x id',
  'header.x:id',
  'Header.x',
  'headers.x',
  'query.',
  'query.a\0',
  'body',
  'body.',
  'body..a',
  'body.a.',
  'body.a..b',
  'body.a[',
  'body.a[]',
  'body.a[-1]',
  'body.a[x]',
  'body.a[0',
  'body.a]0[',
  'body.a[0]b',
  'body.a[1234567]',
  'body.a\0',
  'body.\uD800',
  `body.${'a'.repeat(251)}`,
])('Selector refuses %j', (text) => {
  expect(Selector.safeParse(text).success).toBe(false)
})

test('compileSelector() throws on what Selector refuses, and only then', () => {
  const step = fc.constantFrom('a', '.', '[', ']', '0', '[0]', '__proto__', '\0')
  const text = fc
    .tuple(fc.constantFrom('header.', 'query.', 'body.', 'body', ''), fc.array(step))
    .map(([part, steps]) => part + steps.join(''))
  fc.assert(
    fc.property(text, fc.jsonValue(), (selector, payload) => {
      const from = { ...FROM, payload: () => payload }
      const read = () => {
        try {
          return typeof (readSelector(compileSelector(selector), from) ?? '')
        } catch (error) {
          return String(error)
        }
      }
      const isValid = Selector.safeParse(selector).success
      expect(read()).toBe(isValid ? 'string' : `Error: Cannot compile selector "${selector}"`)
    }),
  )
})

test('a path as its names say reaches the value put there', () => {
  const name = fc.stringMatching(/^[^.[\]\0\uD800-\uDFFF]{1,8}$/)
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 10 }), (names) => {
      const payload = names.reduceRight<unknown>(
        (inner, key) => Object.fromEntries([[key, inner]]),
        'found',
      )
      const selector = compileSelector(`body.${names.join('.')}`)
      expect(readSelector(selector, { ...FROM, payload: () => payload })).toBe('found')
    }),
  )
})

test('dedupeKey() is the SHA-256 of the values, each after its length', () => {
  const expected = createHash('sha256').update('\0\0\0\x02ab\0\0\0\x03\u00E9c').digest()
  expect(dedupeKey(['ab', '\u00E9c'])).toEqual(expected)
})

test.for<[values: (string | undefined)[]]>([[[]], [[undefined]], [['a', undefined]]])(
  'dedupeKey(%j) is undefined',
  ([values]) => {
    expect(dedupeKey(values)).toBeUndefined()
  },
)

test('dedupeKey() is the same for the same values only', () => {
  const values = fc.array(fc.constantFrom('', 'a', 'b', 'ab', '\0', '\x01a'), {
    minLength: 1,
    maxLength: 3,
  })
  fc.assert(
    fc.property(values, values, (left, right) => {
      const isSame = JSON.stringify(left) === JSON.stringify(right)
      expect(dedupeKey(left)?.equals(dedupeKey(right) ?? Buffer.alloc(0))).toBe(isSame)
    }),
    { numRuns: 500 },
  )
  expect(dedupeKey(['ab', 'c'])).not.toEqual(dedupeKey(['a', 'bc']))
  expect(dedupeKey(['', 'a'])).not.toEqual(dedupeKey(['a', '']))
})
