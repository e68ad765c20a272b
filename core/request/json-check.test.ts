import fc from 'fast-check'
import { expect, test } from 'vitest'

import { JsonCheck } from './json-check.ts'
import { parseJson } from './json.ts'

/** Checks a text in pieces of a length. */
function isTaken(text: string, length: number): boolean {
  const check = new JsonCheck()
  for (let at = 0; at < text.length; at += length) {
    if (!check.push(text.slice(at, at + length))) return false
  }
  return check.end()
}

function isParsed(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

const json = fc.json({ stringUnit: 'binary' })
/** Something close to JSON: a character of a valid text is another one, is gone, or comes twice. */
const nearly = fc
  .tuple(
    json,
    fc.nat(),
    fc.constantFrom('', ...Array.from('{}[]",:\\u0129-+.eEntfalsr \t\n\u0001\u00a0')),
  )
  .map(([text, n, other]) => {
    const at = n % (text.length + 1)
    return text.slice(0, at) + other + text.slice(at + (n % 3))
  })

test('JsonCheck takes what JSON.parse takes, in pieces of any length', () => {
  fc.assert(
    fc.property(fc.oneof(json, nearly), fc.integer({ min: 1, max: 9 }), (text, length) => {
      expect(isTaken(text, length)).toBe(isParsed(text))
    }),
    { numRuns: 3_000 },
  )
})

test.for([
  '',
  ' ',
  '01',
  '-',
  '-0',
  '-01',
  '0.',
  '.5',
  '1e',
  '1e+',
  '1E-2',
  '1.0e5',
  '+1',
  'tru',
  'true',
  'nulll',
  'NaN',
  '"\\u12G4"',
  '"\\u123"',
  '"\\x41"',
  '"a',
  '"\\',
  '[1,]',
  '[,1]',
  '[1 2]',
  '{"a":1,}',
  '{"a"}',
  '{a:1}',
  '{"a":}',
  '{"a":1 "b":2}',
  '{1:2}',
  '[}',
  '{]',
  '[1]]',
  '1 2',
  '"a" "b"',
  ' [ ] ',
  '{ }',
  '\uFEFF1',
  '[1]\u0000',
  '"\t"',
  '"\u2028"',
  '{"a":1,"a":2}',
  '[[],{}]',
  '[[],]',
  ':',
  ',',
  '{"a"::1}',
  '12 ',
  '[0]x',
  '1true',
  '--1',
  '1-1',
])('JsonCheck reads %j as JSON.parse does', (text) => {
  for (const length of [1, 2, 3, text.length + 1])
    expect(isTaken(text, length)).toBe(isParsed(text))
})

function filled(piece: (at: number) => string, length: number, [open, close] = ['[', ']']): string {
  const pieces: string[] = []
  for (let at = 0, all = 2; all < length; at += 1) {
    pieces.push(piece(at))
    all += piece(at).length + 1
  }
  return `${open}${pieces.join(',')}${close}`
}

const MIB = 1_024 * 1_024

test.for<[name: string, text: string]>([
  ['values past the limit', filled(() => '0', 3 * MIB + 10)],
  ['values below the limit', filled(() => '0', 2.9 * MIB)],
  ['numbers that are kept as they came, past the limit', filled(() => '1.0', 2 * MIB)],
  ['numbers that are kept as they came, below the limit', filled(() => '1.0', MIB / 2)],
  ['names past the limit', filled((at) => `"k${at}":0`, 1.5 * MIB, ['{', '}'])],
  ['names below the limit', filled((at) => `"k${at}":0`, MIB / 2, ['{', '}'])],
  ['long names', filled((at) => `{"${'k'.repeat(90)}${at % 9}":0}`, 3 * MIB)],
  ['objects that are alike', filled((at) => `{"id":"${at}","name":"a text","n":1.5}`, 3 * MIB)],
  ['arrays as deep as may be', `${'['.repeat(1_000)}"${'x'.repeat(MIB)}"${']'.repeat(1_000)}`],
  ['arrays that are too deep', `${'['.repeat(1_001)}"${'x'.repeat(MIB)}"${']'.repeat(1_001)}`],
  ['one text', `"${'\\u00e9\\"'.repeat(MIB / 2)}"`],
])('JsonCheck bounds %s as parseJson does', ([, text]) => {
  expect(isTaken(text, 65_536)).toBe(isParsed(text))
  expect(isTaken(text, 999)).toBe(isParsed(text))
})
