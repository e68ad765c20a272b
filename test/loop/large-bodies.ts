/** Bodies of 5 MiB, or nearly, that are dear to read, to copy or to write as JSON. */
const MIB = 1_024 * 1_024
const BYTES = 5 * MIB

export interface LargeBody {
  contentType: string
  raw: Buffer
  /** The source of a mail, of which `raw` is made. */
  mail?: Buffer
}

const FORM = 'application/x-www-form-urlencoded'

export const LARGE_BODIES: readonly (readonly [name: string, make: () => LargeBody])[] = [
  ['ASCII text', () => text('text/plain', 'All is plain here. ')],
  ['control characters', () => text('text/plain', '\u0001\u0002\u001f\u007f')],
  [
    'bytes that are no UTF-8',
    () => text('application/octet-stream', Buffer.from([0xff, 0xe2, 0x82, 0x41])),
  ],
  ['400,000 short texts', () => json(list(400_000, (at) => `"text${at}"`))],
  ['deep JSON', () => json(`${'['.repeat(BYTES / 2)}${']'.repeat(BYTES / 2)}`)],
  ['one text of escapes', () => json(`"${String.raw`\u00e9\"\n`.repeat(BYTES / 10 - 1)}"`)],
  ['numbers', () => json(list(450_000, (at) => String(at * 1_000_003)))],
  [
    'a form',
    () =>
      text(
        FORM,
        Buffer.from(list(4_999, (at) => `f${at}=${'%C3%A9+%41'.repeat(100)}`, '&').slice(1, -1)),
      ),
  ],
  ['a form with parts', multipart],
  ['a mail with an attachment', mail],
]

function text(contentType: string, piece: string | Buffer): LargeBody {
  return { contentType, raw: Buffer.alloc(Math.max(BYTES, piece.length), piece) }
}

function json(raw: string): LargeBody {
  return { contentType: 'application/json', raw: Buffer.from(raw) }
}

function list(count: number, item: (at: number) => string, comma = ','): string {
  return `[${Array.from({ length: count }, (_, at) => item(at)).join(comma)}]`
}

function multipart(): LargeBody {
  const part = (name: string, value: string): string =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const parts = [
    part('long', '"\u0001é'.repeat(MIB)),
    ...Array.from({ length: 4_000 }, (_, at) => part(`f${at}`, 'x'.repeat(100))),
  ]
  return {
    contentType: 'multipart/form-data; boundary=b',
    raw: Buffer.from(`${parts.join('')}--b--\r\n`),
  }
}

function mail(): LargeBody {
  const content = Buffer.alloc(3.6 * MIB, 'attached').toString('base64')
  const source = `From: a@example.net\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}\r\n`
  const payload = { from: { address: 'a@example.net' }, attachments: [{ content }] }
  return { ...json(JSON.stringify(payload)), mail: Buffer.from(source) }
}
