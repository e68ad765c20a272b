import { expect, test } from 'vitest'

import {
  MAIL_DEPTH_MAX,
  MAIL_HEAD_LINES_MAX,
  MAIL_LINES_MAX,
  MAIL_PARTS_MAX,
} from '../../../../core/limits.ts'
import { readParts } from './parts.ts'

const MULTIPART = 'From: a@example.net\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'

/** Type and body of each part. */
function partsOf(mail: string): string[][] | string {
  const parts = readParts(Buffer.from(mail, 'latin1'))
  if (typeof parts === 'string') return parts
  return parts.map(({ type, body }) => [type.value, body.toString('latin1')])
}

const text = (...bodies: string[]): string[][] => bodies.map((body) => ['text/plain', body])

test.for([
  ['', text('')],
  ['Subject: x', text('')],
  ['Subject: x\r\n\r\n--b\r\nbody\r\n', text('--b\r\nbody\r\n')],
  ['Content-Type: nonsense\n\nbody', text('body')],
  ['Content-Type: TEXT/HTML\n\nbody', [['text/html', 'body']]],
  ['Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n', [['a/b', '']]],
  [`${MULTIPART}pre\r\n--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\npost`, text('x', 'y')],
  [`${MULTIPART}--b\r\n\r\n\r\nx\r\n\r\n--b--`, text('\r\nx\r\n')],
  [`${MULTIPART}--b\n\nx\n\n--b--`, text('x\n')],
  [`${MULTIPART}--b \t\r\n\r\nx\r\n--b-- \r\n`, text('x')],
  [
    `${MULTIPART}--b\r\n\r\nx\r\n--bb\r\n--b-\r\n --b\r\n-b\r\n--b--`,
    text('x\r\n--bb\r\n--b-\r\n --b\r\n-b'),
  ],
  [`${MULTIPART}--b\r\n\r\nx\r\n--b --\r\n--b--`, text('x\r\n--b --')],
  [`${MULTIPART}--b\r\n\r\nx\r--b\r--b--`, text('x\r--b\r--b--')],
  [`${MULTIPART}--b\r\n--b\r\n\r\n--b--`, text('', '')],
  [`${MULTIPART}--b\r\nnot a header\r\nbody\r\n--b--`, text('not a header\r\nbody')],
  [`${MULTIPART}--b\r\nContent-Type: a/b\r\nbody\r\n--b--`, [['a/b', 'body']]],
  [`${MULTIPART}--b\r\nContent-Type:\r\n a/b\r\n\r\nbody`, [['a/b', 'body']]],
  // A multipart that cannot be divided is shown as it is.
  [`${MULTIPART}body\r\n`, text('body\r\n')],
  ['Content-Type: multipart/mixed\r\n\r\nbody', text('body')],
  ['Content-Type: multipart/mixed; boundary=" "\r\n\r\n--\r\n\r\nbody', text('--\r\n\r\nbody')],
  [
    'Content-Type: multipart/mixed; boundary="a b:c"\r\n\r\n--a b:c\r\nX: y\r\n--a b:c\r\n\r\nz\r\n--a b:c--',
    text('', 'z'),
  ],
  [
    'Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nFrom: x\r\n\r\ny\r\n--b--',
    [['message/rfc822', 'From: x\r\n\r\ny']],
  ],
] as const)('%j', ([mail, parts]) => {
  expect(partsOf(mail)).toEqual(parts)
})

const inner = (boundary: string, ...lines: string[]): string =>
  [`Content-Type: multipart/alternative; boundary=${boundary}`, '', ...lines].join('\r\n')

test.for([
  ['closed', inner('c', '--c', '', 'x', '--c--', 'post'), ['x', 'z']],
  ['not closed', inner('c', '--c', '', 'x'), ['x', 'z']],
  ['of the same boundary', inner('b', '--b', '', 'x', '--b--'), ['x', 'z']],
  ['of a boundary that goes on', inner('b2', '--b2', '', 'x', '--b2--'), ['x', 'z']],
  ['without parts', inner('c', 'x'), ['x', 'z']],
  ['a mail', 'Content-Type: message/rfc822\r\n\r\n--c\r\nx', ['--c\r\nx', 'z']],
] as const)('a part that is %s ends before the next of its parent', ([, part, bodies]) => {
  const read = partsOf(`${MULTIPART}--b\r\n${part}\r\n--b\r\n\r\nz\r\n--b--\r\n`)
  expect([read].flat().map(([, body]) => body)).toEqual(bodies)
})

const nested = (depth: number): string =>
  Array.from(
    { length: depth },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  ).join('')

test.for([
  ['lines', '\n'.repeat(MAIL_LINES_MAX), '\n', 'manyLines'],
  ['parts', `${MULTIPART}${'--b\r\n\r\n'.repeat(MAIL_PARTS_MAX - 1)}`, '--b\r\n', 'manyParts'],
  ['levels', nested(MAIL_DEPTH_MAX), nested(1), 'deepParts'],
  [
    'headers of a part',
    `${MULTIPART}--b\r\n${'X: y\r\n'.repeat(MAIL_HEAD_LINES_MAX)}`,
    'X: y\r\n',
    'longHead',
  ],
] as const)('a mail has so many %s, and no more', ([, most, more, fault]) => {
  expect(partsOf(most)).toBeTypeOf('object')
  expect(partsOf(`${most}${more}`)).toBe(fault)
})
