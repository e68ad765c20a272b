import fc from 'fast-check'
import { expect, test } from 'vitest'

import { FORM_FIELDS_MAX } from '../limits.ts'
import { objectOf } from './form.ts'
import { Parsed, parsedOf } from './parsed.ts'
import { cleanText, hasNul } from './text.ts'

const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'

function payloadOf(contentType: string | undefined, body: string | Buffer): unknown {
  const headers = { 'content-type': contentType }
  return new Parsed({ headers, query: '', body: Buffer.from(body) }).payload()
}

function queryOf(query: string): unknown {
  return new Parsed({ headers: {}, query, body: Buffer.alloc(0) }).query
}

test.for<[contentType: string | undefined, body: string, payload: unknown]>([
  ['application/json', '{"a":[1,null]}', { a: [1, null] }],
  ['Application/JSON; charset=utf-8', '"text"', 'text'],
  ['application/cloudevents+json', '1', 1],
  ['application/vnd.api+json;v=1', 'true', true],
  ['text/json', '[1]', [1]],
  ['application/json', '{"a":', null],
  ['application/json', '', null],
  ['application/jsonp', '{"a":1}', null],
  ['application/octet-stream', '{"a":1}', null],
  ['text/html', '{"a":1}', null],
  ['text/plain; charset=UTF-8', ' \r\n\t{"a":1}', { a: 1 }],
  ['text/plain', '[1]', [1]],
  ['text/plain', '1', null],
  ['text/plain', '"a"', null],
  ['text/plain', '{not json}', null],
  ['', '{"a":1}', { a: 1 }],
  [undefined, '{"a":1}', { a: 1 }],
  [undefined, 'a=1', null],
  [FORM, 'a=1&b=x+y&c=%C3%A9&d', { a: '1', b: 'x y', c: 'é', d: '' }],
  [FORM, 'a=1&a=2&a=3', { a: ['1', '2', '3'] }],
  [FORM, 'a=%zz&%=1', { a: '%zz', '%': '1' }],
  [`${FORM};charset=utf-8`, 'a=1', { a: '1' }],
  [FORM, '', null],
  [FORM, '{"a":1}', { '{"a":1}': '' }],
])('a body of type %j with %j has the payload %j', ([contentType, body, payload]) => {
  expect(payloadOf(contentType, body)).toEqual(payload)
})

test.for<[contentType: string | undefined, body: string, payload: unknown]>([
  ['application/json', '{"a":1}', { a: 1 }],
  ['text/plain', '{"a":1}', { a: 1 }],
  [undefined, '[1]', [1]],
  [FORM, 'type=x', { type: 'x' }],
  [FORM, 'payload={"a":1}', { a: 1 }],
  [MULTIPART, '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--', { a: '1' }],
])('a byte order mark before a body of type %j is skipped', ([contentType, body, payload]) => {
  expect(payloadOf(contentType, `\uFEFF${body}`)).toEqual(payload)
})

test.for<[body: string, payload: unknown]>([
  ['payload=%7B%22a%22%3A%5B1%5D%7D', { a: [1] }],
  ['payload=+[1]', [1]],
  ['payload=%EF%BB%BF{}', {}],
  ['mandrill_events=[{"event":"send"}]', [{ event: 'send' }]],
  ['payload={"a":1}&ref=b', { payload: '{"a":1}', ref: 'b' }],
  ['payload={"a":1}&payload={"a":2}', { payload: ['{"a":1}', '{"a":2}'] }],
  ['payload=1', { payload: '1' }],
  ['payload={broken', { payload: '{broken' }],
  ['other={"a":1}', { other: '{"a":1}' }],
])(
  'JSON that a form wraps is the payload where nothing stands beside it: %s',
  ([body, payload]) => {
    expect(payloadOf(FORM, body)).toEqual(payload)
  },
)

test('a multipart form has its texts as members and says of its files what they are', () => {
  const body = [
    '--b',
    'Content-Disposition: form-data; name="to"',
    '',
    'a@x.test',
    '--b',
    'content-disposition: form-data; name="tag"',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'one',
    '--b',
    'Content-Disposition: form-data; name="tag"',
    '',
    'two\r\nlines --b',
    '--b',
    String.raw`Content-Disposition: form-data; name="at"; filename="a \"b\".png"`,
    'Content-Type: image/png',
    '',
    'PNG!',
    '--b',
    `Content-Disposition: form-data; name="at"; filename="x"; filename*=UTF-8''na%C3%AFve`,
    '',
    '',
    '--b--',
    'epilogue',
  ].join('\r\n')
  expect(payloadOf(MULTIPART, body)).toEqual({
    to: 'a@x.test',
    tag: ['one', 'two\r\nlines --b'],
    at: [
      { filename: 'a "b".png', contentType: 'image/png', sizeBytes: 4 },
      { filename: 'naïve', contentType: null, sizeBytes: 0 },
    ],
  })
  expect(payloadOf('multipart/form-data; BOUNDARY="b"', `before\r\n${body}`)).toHaveProperty('to')
})

test.for<[contentType: string, body: string]>([
  ['multipart/form-data', '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--'],
  [MULTIPART, '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n'],
  [MULTIPART, '--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--'],
  [MULTIPART, '--b\r\nContent-Disposition: form-data; name=a\r\n1\r\n--b--'],
  [MULTIPART, 'a=1'],
  [MULTIPART, ''],
])('a multipart body that is not whole is not parsed: %s %j', ([contentType, body]) => {
  expect(payloadOf(contentType, body)).toBeNull()
})

test.for([
  ['application/json', '{"__proto__":{"polluted":true},"constructor":"c"}'],
  ['application/json', '{"__proto__":{"polluted":1.0},"constructor":"c"}'],
  [FORM, '__proto__=a&__proto__=b&constructor=c'],
])('prototype names in a body of type %s are data: %s', ([contentType, body]) => {
  const payload = payloadOf(contentType, body ?? '')
  expect(Object.keys(Object(payload))).toEqual(['__proto__', 'constructor'])
  expect(payload).not.toHaveProperty('polluted')
  expect({}).not.toHaveProperty('polluted')
})

test('no body makes anything throw, whatever its bytes and however deep', () => {
  const contentType = fc.constantFrom('application/json', FORM, MULTIPART, 'text/plain', ';', '')
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc
      .array(fc.constantFrom('\r\n', '--b', '--', ';', 'name=', '"', '\\', 'a', ' ', ':'))
      .map((pieces) => Buffer.from(pieces.join(''))),
  )
  fc.assert(
    fc.property(contentType, bytes, (type, body) => {
      const request = { headers: { 'content-type': type }, query: '', body: Buffer.from(body) }
      const parsed = parsedOf(request)
      expect(() => [
        parsed.payload(),
        parsed.fields,
        parsed.fileNames,
        parsed.document,
      ]).not.toThrow()
    }),
  )
  const deep = '['.repeat(1_000_000)
  expect(payloadOf('application/json', deep)).toBeNull()
  expect(payloadOf('application/json', deep + ']'.repeat(1_000_000))).toBeNull()
  expect(payloadOf('application/json', `${deep}1.0${']'.repeat(1_000_000)}`)).toBeNull()
})

test('a form with more fields than the limit is not parsed, and costs no more than reading it', () => {
  const pairs = (count: number) => Array.from({ length: count }, () => 'a').join('&')
  expect(payloadOf(FORM, pairs(FORM_FIELDS_MAX))).not.toBeNull()
  expect(payloadOf(FORM, pairs(FORM_FIELDS_MAX + 1))).toBeNull()
  const part = '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n'
  expect(payloadOf(MULTIPART, `${part.repeat(FORM_FIELDS_MAX)}--b--`)).not.toBeNull()
  expect(payloadOf(MULTIPART, `${part.repeat(FORM_FIELDS_MAX + 1)}--b--`)).toBeNull()

  const fiveMiB = 5 * 1024 * 1024
  const bodies: [type: string, body: Buffer][] = [
    [FORM, Buffer.alloc(fiveMiB, 'a&')],
    [FORM, Buffer.alloc(fiveMiB, '%4')],
    [MULTIPART, Buffer.alloc(fiveMiB, '\r\n--b')],
    [MULTIPART, Buffer.alloc(fiveMiB, '\r\n--bb')],
    [MULTIPART, Buffer.alloc(fiveMiB, '--b\r\nContent-Disposition: x;a="\\";a="\\"')],
    ['application/json', Buffer.from(`["${'\\\\'.repeat(fiveMiB / 2)}",1.0]`)],
    ['application/json', Buffer.from(`[${'1'.repeat(fiveMiB)}]`)],
  ]
  for (const [type, body] of bodies) {
    const startedAt = performance.now()
    payloadOf(type, body)
    expect(performance.now() - startedAt, `${type} ${body.toString('latin1', 0, 20)}`).toBeLessThan(
      2_000,
    )
  }
})

test('JSON reads as JSON.parse reads it where no number is unusual', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const payload = payloadOf('application/json', text)
      expect(JSON.parse(JSON.stringify(payload))).toEqual(JSON.parse(text))
    }),
  )
})

test.for<[bytes: string, isExact: boolean, text: string]>([
  ['abc', true, 'abc'],
  ['\xC3\xA9', true, 'é'],
  ['\xE9', false, 'é'],
  ['\xFF', false, 'ÿ'],
])('a text of bytes %j is told from one that only reads the same', ([bytes, isExact, text]) => {
  const escaped = [...Buffer.from(bytes, 'latin1')].map((byte) => `%${byte.toString(16)}`).join('')
  const readings: [Parsed, read: (parsed: Parsed) => unknown][] = [
    [parsedWith({ headers: { 'x-a': bytes } }), ({ headers }) => headers['x-a']],
    [parsedWith({ query: `a=${escaped}` }), ({ query }) => query[0]?.[1]],
    [
      parsedWith({ headers: { 'content-type': FORM }, body: Buffer.from(`a=${escaped}`) }),
      (parsed) => Reflect.get(Object(parsed.payload()), 'a'),
    ],
  ]
  for (const [parsed, read] of readings) {
    expect(read(parsed)).toBe(text)
    expect(parsed.isExact(text)).toBe(isExact)
  }
})

test('a text of JSON that is not UTF-8 is exact only where it was read without loss', () => {
  const body = Buffer.from('{"a":"\xE9","b":"c"}', 'latin1')
  const parsed = parsedWith({ headers: { 'content-type': 'application/json' }, body })
  expect(parsed.payload()).toEqual({ a: '\uFFFD', b: 'c' })
  expect([parsed.isExact('\uFFFD'), parsed.isExact('c')]).toEqual([false, true])
})

function parsedWith(parts: Partial<ConstructorParameters<typeof Parsed>[0]>): Parsed {
  return new Parsed({ headers: {}, query: '', body: Buffer.alloc(0), ...parts })
}

test.for<[raw: string, pairs: [string, string][]]>([
  ['', []],
  [
    'a=1&b=2',
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
  ['a=%C3%A9', [['a', 'é']]],
  ['__proto__=1', [['__proto__', '1']]],
])('the query %j is %j', ([raw, pairs]) => {
  expect(queryOf(raw)).toEqual(pairs)
})

test('a query of ASCII reads as the URL standard reads it', () => {
  const unit = fc.constantFrom('g', '%', '4', '1', '=', '&', '+', '#', 'z')
  fc.assert(
    fc.property(fc.string({ unit }), (raw) => {
      fc.pre(!raw.startsWith('?'))
      expect(queryOf(raw)).toEqual([...new URLSearchParams(raw)])
    }),
  )
})

test('objectOf() makes arrays of repeated names, of lists too', () => {
  expect(
    objectOf([
      ['a', [1]],
      ['b', [2]],
      ['a', [3]],
    ]),
  ).toEqual({ a: [[1], [3]], b: [2] })
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
