import fc from 'fast-check'
import { expect, test } from 'vitest'

import { contentOf, UndecodedMembers, type MailContent, type Undecoded } from './mail-content.ts'
import { readParts } from './parts.ts'

interface Read extends MailContent {
  undecoded: Undecoded[]
}

function read(mail: string | Buffer): Read {
  const undecoded = new UndecodedMembers()
  const parts = readParts(typeof mail === 'string' ? Buffer.from(mail, 'latin1') : mail)
  const content = typeof parts === 'string' ? parts : contentOf(parts, undecoded)
  if (typeof content === 'string') throw new Error(content)
  return { ...content, undecoded: undecoded.list() }
}

const typed = (type: string, body: string, encoding = '8bit'): string =>
  `Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`
const mixed = (...parts: string[]): string =>
  `Content-Type: multipart/mixed; boundary="=_b"\r\n\r\n${parts.map((part) => `--=_b\r\n${part}\r\n`).join('')}--=_b--\r\n`

/** A file as it was sent, with its headers and its body on the wire. */
const FILES: [name: string, headers: string, body: string, content: string][] = [
  [
    '7bit',
    'application/xml; name=a.xml\r\nContent-Transfer-Encoding: 7bit',
    '<a>\r\n</a>',
    '<a>\r\n</a>',
  ],
  ['8bit', 'application/x', 'a\xff\r\n', 'a\xff\r\n'],
  ['no encoding', 'application/pgp-signature', '\r\n-\r\n', '\r\n-\r\n'],
  ['bare line feeds', 'application/x', 'a\nb\r\n\r', 'a\nb\r\n\r'],
  [
    'quoted-printable',
    'application/json\r\nContent-Transfer-Encoding: Quoted-Printable',
    '{"a":=\r\n1}',
    '{"a":1}',
  ],
  [
    'base64',
    'text/calendar; charset=iso-8859-1\r\nContent-Transfer-Encoding: BASE64',
    'WvxyaWNoDQo=',
    'Z\xfcrich\r\n',
  ],
  ['a comment', 'a/b\r\nContent-Transfer-Encoding: (c) base64 (d)', 'YQ==', 'a'],
  [
    'uuencode',
    'a/b\r\nContent-Transfer-Encoding: x-uuencode',
    'begin 644 a\r\n#86)C\r\n`\r\nend',
    'abc',
  ],
  ['a mail', 'message/rfc822', 'Subject: x\r\n\r\nbody', 'Subject: x\r\n\r\nbody'],
  [
    'a report',
    'message/delivery-status',
    'Action: failed\r\n\r\nx: y\r\n',
    'Action: failed\r\n\r\nx: y\r\n',
  ],
  ['a calendar', 'text/calendar; method=CANCEL', 'BEGIN:VCALENDAR\r\n', 'BEGIN:VCALENDAR\r\n'],
  ['nothing', 'application/x', '', ''],
]

test('files are the bytes that were sent', () => {
  const { attachments, undecoded } = read(
    mixed(...FILES.map(([, headers, body]) => `Content-Type: ${headers}\r\n\r\n${body}`)),
  )
  expect(attachments.map(({ content }) => content.toString('latin1'))).toEqual(
    FILES.map(([, , , content]) => content),
  )
  expect(undecoded).toEqual([])
})

test('a file has the charset and the parameters of its type', () => {
  const type = `text/csv; charset="'UTF-8'"; header=present; name*=utf-8''%C3%BC.csv`
  expect(read(mixed(typed(type, 'a;b'))).attachments).toMatchObject([
    {
      filename: 'ü.csv',
      contentType: 'text/csv',
      charset: 'utf-8',
      parameters: { charset: "'UTF-8'", header: 'present', name: 'ü.csv' },
      disposition: null,
      contentId: null,
    },
  ])
})

test.for([
  ['attachment', true],
  ['attachment; filename=a.txt', true],
  ['inline; filename=a.txt', true],
  ['inline; filename*0=a; filename*1=.txt', true],
  ['unheard-of', true],
  ['inline', false],
  ['INLINE; size=3', false],
] as const)('a text of disposition %s is a file: %s', ([disposition, isFile]) => {
  for (const type of ['text/plain', 'text/html'] as const) {
    const part = `Content-Disposition: ${disposition}\r\n${typed(type, 'private')}`
    const { text, html, attachments } = read(mixed(typed('text/plain', 'first'), part))
    expect(attachments).toHaveLength(isFile ? 1 : 0)
    expect(`${text}${html}`.includes('private')).toBe(!isFile)
  }
})

test('a text with a name is a file', () => {
  const { text, attachments } = read(typed('text/plain; name=a.txt', 'x'))
  expect({ text, attachments }).toMatchObject({ text: null, attachments: [{ filename: 'a.txt' }] })
})

test('texts are joined, each kind for itself, and end as they were sent', () => {
  const plain = mixed(
    typed('text/plain', 'a\r\n'),
    typed('text/html', '<b>'),
    typed('text/plain', 'c'),
  )
  expect(read(plain)).toMatchObject({ text: 'a\n\nc', html: '<b>', attachments: [] })
  expect(read('Subject: x\r\n\r\n')).toMatchObject({ text: null, html: null })
  expect(read(typed('text/plain; format=flowed; delsp=yes', 'a \r\nb\r\n')).text).toBe('ab\n')
})

const META = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2">'

test.for([
  ['text/plain', 'Gr\xfc\xdfe', 'Grüße'],
  ['text/plain', 'Gr\xc3\xbc\xc3\x9fe', 'Grüße'],
  ['text/plain; charset=ascii', 'Gr\xc3\xbc\xc3\x9fe', 'Grüße'],
  ['text/plain; charset=iso-8859-1', 'Gr\xc3\xbc', 'GrÃ¼'],
  ["text/plain; charset='utf-8'", 'Gr\xc3\xbc', 'Grü'],
  ['text/plain; charset="charset=utf-8"', 'Gr\xc3\xbc', 'Grü'],
  ['text/plain; charset=unicode-1-1-utf-7', 'Fr+APY-sche', 'Frösche'],
  ['text/html', `${META}\xbb`, `${META}ť`],
  ['text/html; charset=us-ascii', `<meta charset='koi8-r'/>\xd0`, `<meta charset='koi8-r'/>п`],
  ['text/html; charset=iso-8859-1', `${META}\xbb`, `${META}»`],
  ['text/html', '<meta charset=utf-16>\xc3\xbc', '<meta charset=utf-16>ü'],
  ['text/html', '<meta charset=x-none>\xc3\xbc', '<meta charset=x-none>ü'],
  ['text/html', '<meta charset=utf-8>\xfc', '<meta charset=utf-8>ü'],
] as const)('%s: %s', ([type, body, wanted]) => {
  const { text, html, undecoded } = read(typed(type, body))
  expect({ shown: text ?? html, undecoded }).toEqual({ shown: wanted, undecoded: [] })
})

test.for([
  ['text/plain; charset=utf-8', 'Gr\xfc', 'Gr\uFFFD', ['text', 'invalid_bytes', 'utf-8']],
  ['text/plain; charset=x-none', 'plain', 'plain', ['text', 'unknown_charset', 'x-none']],
  ['text/plain; charset=x-none', 'Gr\xfc', null, ['attachments.0', 'unknown_charset', 'x-none']],
  [
    'text/html; charset=iso-2022-cn',
    '\x1b$)A',
    null,
    ['attachments.0', 'unknown_charset', 'iso-2022-cn'],
  ],
  ['text/plain', 'x', 'x', ['text', 'unknown_encoding', 'x-yenc']],
  ['application/x', 'x', null, ['attachments.0', 'unknown_encoding', 'x-yenc']],
] as const)(
  '%s: what is not decoded is reported: %s',
  ([type, body, wanted, [member, cause, label]]) => {
    const got = read(typed(type, body, cause === 'unknown_encoding' ? label : '8bit'))
    expect(got).toMatchObject({ text: wanted, undecoded: [{ member, cause, label }] })
    expect(got.attachments.map(({ content }) => content.toString('latin1'))).toEqual(
      wanted === null ? [body] : [],
    )
  },
)

/** Encoders that know nothing of the decoders: lines of any length, every byte escaped or as it is. */
const ENCODERS: Record<string, (bytes: Buffer) => string> = {
  '8bit': (bytes) => bytes.toString('latin1'),
  base64: (bytes) => (bytes.toString('base64').match(/.{1,76}/g) ?? []).join('\r\n'),
  'quoted-printable': (bytes) =>
    [...bytes]
      .map((byte, at) => {
        const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x3d
        const written = isPlain
          ? String.fromCharCode(byte)
          : `=${byte.toString(16).padStart(2, '0').toUpperCase()}`
        return at % 20 === 19 ? `${written}=\r\n` : written
      })
      .join(''),
}

const file = fc.record({
  content: fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc
      .array(fc.constantFrom('\r\n', '\n', '\r', '--', '-', 'b1', '=_b', ' ', 'x: y', '.', '\t'))
      .map((pieces) => Buffer.from(pieces.join(''))),
  ),
  encoding: fc.constantFrom(...Object.keys(ENCODERS)),
  type: fc.constantFrom('application/x', 'message/rfc822', 'text/calendar', 'text/plain; name=a'),
})
type File = typeof file extends fc.Arbitrary<infer T> ? T : never
type Tree = File | Tree[]
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, file, fc.array(tie('tree'), { minLength: 1, maxLength: 3 })),
}))

function filesOf(node: Tree): File[] {
  return Array.isArray(node) ? node.flatMap(filesOf) : [node]
}

/** A boundary that no file has. */
function compose(node: Tree, boundary: string): string {
  if (!Array.isArray(node)) {
    const { content, encoding, type } = node
    return `Content-Transfer-Encoding: ${encoding}\r\nContent-Type: ${type}\r\n\r\n${ENCODERS[encoding]?.(content)}`
  }
  const parts = node.map((one, at) => `\r\n--${boundary}\r\n${compose(one, `${boundary}${at}`)}`)
  return `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n${parts.join('')}\r\n--${boundary}--`
}

test('a mail that is composed of files is read as the same files', () => {
  fc.assert(
    fc.property(tree, (node) => {
      const { attachments } = read(Buffer.from(compose(node, 'uniqueBoundary'), 'latin1'))
      expect(attachments.map(({ content }) => content.toString('latin1'))).toEqual(
        filesOf(node).map(({ content }) => content.toString('latin1')),
      )
    }),
    { numRuns: 300 },
  )
})
