import fc from 'fast-check'
import { expect, test } from 'vitest'

import { decodeTransfer } from './transfer-encoding.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

test.for([
  ['', 'a\r\nb\n', 'a\r\nb\n'],
  ['7bit', '=41', '=41'],
  ['8bit', '\xff', '\xff'],
  ['binary', '\0', '\0'],
  ['none', 'a', 'a'],
  ['base64', 'YWJj\r\nZGVm\r\n', 'abcdef'],
  ['base64', 'Y W!J-j', 'abc'],
  ['base64', 'YQ==\r\nYg==\r\n', 'ab'],
  ['base64', 'YQ', 'a'],
  ['base64', 'Y', ''],
  ['quoted-printable', 'a=C3=bc=\r\nb=\nc', 'a\xc3\xbcbc'],
  ['quoted-printable', 'a \t\r\nb=20\r\n', 'a\r\nb \r\n'],
  ['quoted-printable', 'a=  \r\nb  =\r\n c  ', 'ab   c'],
  ['quoted-printable', 'a=b==\r\n=zz=4', 'a=b==zz=4'],
  ['quoted-printable', 'a\r\n\r\n\nb=', 'a\r\n\r\n\nb'],
  ['x-uuencode', 'text\r\nbegin 644 a.txt\r\n#86)C\r\n#9&5F\r\n`\r\nend\r\n', 'abcdef'],
  ['uuencode', 'begin 644 a\n$86)C9```\n \nend', 'abcd'],
] as const)('%s: %j', ([encoding, body, decoded]) => {
  expect(decodeTransfer(bytes(body), encoding)?.toString('latin1')).toBe(decoded)
})

test.for([
  ['x-yenc', 'a'],
  ['nonsense', 'a'],
  ['x-uuencode', 'no block'],
  ['x-uuencode', 'begin 644 a\n#86)C\nnever ended'],
  ['x-uuencode', 'begin-base64 644 a\nYQ==\n====\nend'],
] as const)('%s: %j is not decoded', ([encoding, body]) => {
  expect(decodeTransfer(bytes(body), encoding)).toBeUndefined()
})

const content = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))

test('base64 is decoded as Node decodes it', () => {
  fc.assert(
    fc.property(content, fc.integer({ min: 1, max: 76 }), (wanted, width) => {
      const lines = wanted.toString('base64').match(new RegExp(`.{1,${width}}`, 'g')) ?? []
      expect(decodeTransfer(bytes(lines.join('\r\n')), 'base64')).toEqual(wanted)
    }),
  )
})
