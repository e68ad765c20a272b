import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { parseJson } from '../request/json.ts'
import { Parsed } from '../request/parsed.ts'
import {
  compileSelector,
  dedupeKey,
  readKey,
  readSelector,
  type Selectable,
  Selector,
} from './selector.ts'

const HEADERS = new Map([
  ['x-id', 'h1'],
  ['x-empty', ''],
])

const FROM: Selectable = {
  header: (name) => HEADERS.get(name),
  query: [
    ['id', 'q1'],
    ['id', 'q2'],
    ['a.b', 'q3'],
    ['Id', 'q4'],
  ],
  isExact: (text) => text.isWellFormed(),
  payload: () =>
    parseJson(`{
      "id": "b1", "empty": "", "blank": " \\t\\u00a0\\u3000", "number": 12.5, "zero": 0, "yes": true, "no": false, "none": null,
      "big": 9007199254740993, "price": 1.50, "safe": 9007199254740991, "__proto__": { "own": "data" },
      "items": [{ "id": 7 }, [["deep"]]], "object": { "0": "zero", "length": 3, "a-b c": "odd" }
    }`),
}

test.for<[text: string, value: string | undefined]>([
  ['header.x-id', 'h1'],
  ['header.X-Id', 'h1'],
  ['header.x-empty', undefined],
  ['header.x-none', undefined],
  ['header.x-more', undefined],
  ['header.constructor', undefined],
  ['header.__proto__', undefined],
  ['query.id', 'q1'],
  ['query.Id', 'q4'],
  ['query.a.b', 'q3'],
  ['query.__proto__', undefined],
  ['body.id', 'b1'],
  ['body.empty', undefined],
  ['body.blank', undefined],
  ['body.number', '12.5'],
  ['body.zero', '0'],
  ['body.yes', 'true'],
  ['body.no', 'false'],
  ['body.none', undefined],
  ['body.safe', '9007199254740991'],
  ['body.big', '9007199254740993'],
  ['body.price', '1.50'],
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

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

function keyOf(text: string, parts: { contentType?: string; body?: string; query?: string }) {
  const { contentType, body = '', query = '' } = parts
  const headers = { 'content-type': contentType, 'x-id': query }
  const parsed = new Parsed({ headers, query, body: Buffer.from(body, 'latin1') })
  return dedupeKey([readKey(compileSelector(text), parsed)])?.toString('hex')
}

test.for<[what: string, contentType: string, body: string]>([
  ['an empty text', JSON_TYPE, '{"id":""}'],
  ['a blank text', JSON_TYPE, String.raw`{"id":" \n\u00a0\ufeff"}`],
  ['null', JSON_TYPE, '{"id":null}'],
  ['an object', JSON_TYPE, '{"id":{"a":1}}'],
  ['an array of one number', JSON_TYPE, '{"id":[12345678901234567890]}'],
  ['half a surrogate pair', JSON_TYPE, String.raw`{"id":"\ud83d"}`],
  ['bytes that are no UTF-8', JSON_TYPE, '{"id":"\xE9"}'],
  ['an empty field', FORM, 'id='],
  ['a blank field', FORM, 'id=+%09'],
  ['a field that is no UTF-8', FORM, 'id=%E9'],
  ['a field given twice', FORM, 'id=1&id=1'],
])('%s is no id to tell events apart by', ([, contentType, body]) => {
  expect(keyOf('body.id', { contentType, body })).toBeUndefined()
})

test.for([
  ['header.x-id', ''],
  ['header.x-id', ' '],
  ['header.x-id', '\xE9'],
  ['query.id', 'id='],
  ['query.id', 'id=%20'],
  ['query.id', 'id=%E9'],
  ['query.id', 'id=1&id=1'],
])('%s of %j is no id to tell events apart by', ([text = '', query = '']) => {
  expect(keyOf(text, { query })).toBeUndefined()
})

/** An id in a body, and another spelling of the same id. */
const spelling = fc.oneof(
  fc.bigInt({ min: 2n ** 52n, max: 2n ** 70n }).map(String),
  fc.stringMatching(/^-?[1-9]\d{0,20}\.\d{1,20}$/),
  fc.stringMatching(/^[1-9]\d{0,3}e[1-9]\d{0,3}$/),
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '1',
    '1.0',
    '1e0',
    '1e400',
    '2e400',
    '100',
    '1e2',
    '0.1',
    '0.10',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    String.raw`"\ud83d"`,
    String.raw`"\ud83e"`,
    '"\xE9"',
    '"\xE8"',
    '"\xC3\xA9"',
    '"é"',
  ),
)

test('ids of different spelling never become one key', () => {
  fc.assert(
    fc.property(spelling, spelling, (left, right) => {
      const keys = [left, right].map((id) =>
        keyOf('body.id', { contentType: JSON_TYPE, body: `{"id":${id}}` }),
      )
      // A text and a number of the same characters are one id; so are a character and its escape.
      const areOne = textOf(left) === textOf(right)
      expect(areOne || keys[0] === undefined || keys[0] !== keys[1]).toBe(true)
      expect(left !== right || keys[0] === keys[1]).toBe(true)
    }),
    { numRuns: 3_000 },
  )
})

function textOf(spelt: string): string {
  return spelt.startsWith('"') ? String(JSON.parse(spelt)) : spelt
}

test('bytes of a form, a query or a header that differ never become one key', () => {
  const id = fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes))
  const escaped = (bytes: Buffer) =>
    [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  fc.assert(
    fc.property(id, id, (left, right) => {
      fc.pre(!left.equals(right))
      for (const read of [
        (bytes: Buffer) => keyOf('body.id', { contentType: FORM, body: `id=${escaped(bytes)}` }),
        (bytes: Buffer) => keyOf('query.id', { query: `id=${escaped(bytes)}` }),
        (bytes: Buffer) => keyOf('header.x-id', { query: bytes.toString('latin1') }),
      ]) {
        const key = read(left)
        expect(key === undefined || key !== read(right)).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})
