import fc from 'fast-check'
import { expect, test } from 'vitest'

import { cleanText, hasNul, parsePayload, parseQuery } from './payload.ts'

test.for<[contentType: string | null | undefined, body: string, payload: unknown]>([
  ['application/json', '{"a":[1,null]}', { a: [1, null] }],
  ['Application/JSON; charset=utf-8', '"text"', 'text'],
  ['application/cloudevents+json', '1', 1],
  ['application/vnd.api+json;v=1', 'true', true],
  ['application/json', '\uFEFF{"a":1}', { a: 1 }],
  ['application/json', '{"a":', null],
  ['application/json', '', null],
  ['application/jsonp', '{"a":1}', null],
  ['text/plain', '{"a":1}', null],
  ['', '{"a":1}', null],
  [null, '{"a":1}', null],
  [undefined, '{"a":1}', null],
  [
    'application/x-www-form-urlencoded',
    'a=1&b=x+y&c=%C3%A9&d',
    { a: '1', b: 'x y', c: 'é', d: '' },
  ],
  ['application/x-www-form-urlencoded', 'a=1&a=2&a=3', { a: ['1', '2', '3'] }],
  ['application/x-www-form-urlencoded', 'a=%zz&%=1', { a: '%zz', '%': '1' }],
  ['application/x-www-form-urlencoded;charset=utf-8', 'a=1', { a: '1' }],
])('parsePayload() reads %j %j as %j', ([contentType, body, payload]) => {
  expect(parsePayload(contentType, Buffer.from(body))).toEqual(payload)
})

test.for<[contentType: string, body: string]>([
  ['application/json', '{"__proto__":{"polluted":true},"constructor":"c"}'],
  ['application/x-www-form-urlencoded', '__proto__=a&__proto__=b&constructor=c'],
])('parsePayload() of %s takes prototype names for data', ([contentType, body]) => {
  const payload = parsePayload(contentType, Buffer.from(body))
  expect(Object.keys(Object(payload))).toEqual(['__proto__', 'constructor'])
  expect(payload).not.toHaveProperty('polluted')
  expect({}).not.toHaveProperty('polluted')
})

test('parsePayload() never throws, whatever the bytes and however deep', () => {
  const contentType = fc.constantFrom('application/json', 'application/x-www-form-urlencoded', ';')
  fc.assert(
    fc.property(contentType, fc.uint8Array({ maxLength: 64 }), (type, bytes) => {
      parsePayload(type, Buffer.from(bytes))
    }),
  )
  const deep = '['.repeat(1_000_000)
  expect(parsePayload('application/json', Buffer.from(deep))).toBeNull()
  const closed = Buffer.from(deep + ']'.repeat(1_000_000))
  expect(Array.isArray(parsePayload('application/json', closed))).toBe(true)
})

test('parsePayload() gives back what JSON wrote', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parsePayload('application/json', Buffer.from(text))).toEqual(JSON.parse(text))
    }),
  )
})

test.for<[raw: string, pairs: [string, string][]]>([
  ['', []],
  ['?', []],
  [
    '?a=1&b=2',
    [
      ['a', '1'],
      ['b', '2'],
    ],
  ],
  [
    'b=2&a=1&b=',
    [
      ['b', '2'],
      ['a', '1'],
      ['b', ''],
    ],
  ],
  ['a', [['a', '']]],
  ['a=b=c', [['a', 'b=c']]],
  ['a+b=%26', [['a b', '&']]],
  [
    'a=100%&%zz=%f',
    [
      ['a', '100%'],
      ['%zz', '%f'],
    ],
  ],
  ['a=%FF', [['a', '\uFFFD']]],
  ['__proto__=1', [['__proto__', '1']]],
])('parseQuery(%j) is %j', ([raw, pairs]) => {
  expect(parseQuery(raw)).toEqual(pairs)
})

test('parseQuery() reads any text, and what it read reads the same again', () => {
  const unit = fc.constantFrom('a', '%', 'F', '2', '=', '&', '+', '?', '#', '\0', '\uD83D', 'é')
  fc.assert(
    fc.property(fc.string({ unit }), (raw) => {
      const pairs = parseQuery(raw)
      expect(parseQuery(new URLSearchParams(pairs).toString())).toEqual(pairs)
    }),
  )
})

test.for<[text: string, clean: string]>([
  ['', ''],
  ['é 😀', 'é 😀'],
  ['a\0b\0', 'a\uFFFDb\uFFFD'],
  ['a\uD83D', 'a\uFFFD'],
  ['\uDE00\uD83D', '\uFFFD\uFFFD'],
  ['\0\uD83D\uDE00\uD83D', '\uFFFD😀\uFFFD'],
])('cleanText(%j) is %j', ([text, clean]) => {
  expect(cleanText(text)).toBe(clean)
})

test('cleanText() changes nothing else, and nothing twice', () => {
  const unit = fc.constantFrom('a', '\0', '\uD83D', '\uDE00', 'é', '\uFFFD')
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join('')
      const clean = cleanText(text)
      expect(clean.length).toBe(text.length)
      expect(clean.isWellFormed() && !clean.includes('\0')).toBe(true)
      expect(cleanText(clean)).toBe(clean)
    }),
  )
})

test('hasNul() finds the byte anywhere', () => {
  expect(hasNul(Buffer.from('a\0'))).toBe(true)
  expect(hasNul(Buffer.from('\0'))).toBe(true)
  expect(hasNul(Buffer.from('0\\u0000'))).toBe(false)
  expect(hasNul(Buffer.alloc(0))).toBe(false)
})
