import { expect, test } from 'vitest'

import { decodeParameters, readStructured } from './parameters.ts'
import type { DecodingFault } from './words.ts'

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

test.for<[given: string, value: string, parameters: Record<string, string>]>([
  ['', '', {}],
  ['Text/Plain', 'text/plain', {}],
  ['text/plain; charset=UTF-8', 'text/plain', { charset: 'UTF-8' }],
  [
    'text/plain;charset="utf-8" ;\tFormat = flowed',
    'text/plain',
    { charset: 'utf-8', format: 'flowed' },
  ],
  ['text/plain (a; b=c) ; (x) charset (y) = utf-8 (z)', 'text/plain', { charset: 'utf-8' }],
  ['text/plain(comment); a=b', 'text/plain', { a: 'b' }],
  [
    String.raw`a/b; name="x \"y\" \\ z; q=1"; c=d`,
    'a/b',
    { name: String.raw`x "y" \ z; q=1`, c: 'd' },
  ],
  ['attachment; filename=Invoice(1).pdf', 'attachment', { filename: 'Invoice(1).pdf' }],
  ['attachment; filename=my file.pdf; x=y', 'attachment', { filename: 'my file.pdf', x: 'y' }],
  [String.raw`attachment; filename=C:\a\b.txt`, 'attachment', { filename: String.raw`C:\a\b.txt` }],
  ['a/b; x=1; flag; x=2; boundary="b', 'a/b', { x: '1', boundary: 'b' }],
  ['a/b; (unclosed; boundary=b', 'a/b', { boundary: 'b' }],
  ['a/b; name="=?utf-8?q?=C3=BC?=.txt"', 'a/b', { name: 'ü.txt' }],
  [latin1('a/b; name="ü.txt"'), 'a/b', { name: 'ü.txt' }],
  ['a/b; name="\xfc.txt"', 'a/b', { name: 'ü.txt' }],
  ["a; filename*=utf-8''%E4%BD%A0.txt; filename=x", 'a', { filename: '你.txt' }],
  ["a; filename*=iso-8859-1'de'%FC%zz", 'a', { filename: 'ü%zz' }],
  ['a; filename*0="a "; filename*1="%41.txt"', 'a', { filename: 'a %41.txt' }],
  ["a; f*1*=%BD; f*0*=utf-8''%E4; f*2*=%A0; f*3=%41", 'a', { f: '你%41' }],
  ['a; boundary*0=x; boundary*1=y', 'a', { boundary: 'xy' }],
  ['a; f*=%C3%BC', 'a', { f: 'ü' }],
])('%s', ([given, value, parameters]) => {
  const read = readStructured(given)
  expect(read.value).toBe(value)
  expect(Object.fromEntries(decodeParameters(read))).toEqual(parameters)
})

test('a charset that is not known, and bytes that are none of theirs, are reported', () => {
  const faults: DecodingFault[] = []
  const read = readStructured("a; f*=x-none''%C3%BC; g*=utf-8''%C3; h==?x-none?q?a?=")
  const texts = decodeParameters(read, (fault) => faults.push(fault))
  expect(Object.fromEntries(texts)).toEqual({ f: 'ü', g: '\uFFFD', h: '=?x-none?q?a?=' })
  expect(faults).toHaveLength(3)
})
