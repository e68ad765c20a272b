import { SIX_BITS } from '../charsets/base64-alphabet.ts'
import { decodeUuencode } from './uuencode.ts'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09
const EQUALS = 0x3d

/** Names under which programs send bytes as they are; an empty one is no header. */
const IDENTITY: ReadonlySet<string> = new Set([
  '',
  '7bit',
  '8bit',
  'binary',
  '7-bit',
  '8-bit',
  'none',
])
const UUENCODE: ReadonlySet<string> = new Set(['uuencode', 'x-uuencode', 'x-uue', 'uue'])

/** The bytes of a body as its sender had them; undefined for an encoding that is not known. (RFC 2045 6) */
export function decodeTransfer(body: Buffer, encoding: string): Buffer | undefined {
  if (IDENTITY.has(encoding)) return body
  if (encoding === 'base64') return decodeBase64(body)
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body)
  return UUENCODE.has(encoding) ? decodeUuencode(body) : undefined
}

/** Passes over bytes that are none of base64. Padding ends a run, and another may follow. (RFC 2045 6.8) */
export function decodeBase64(body: Uint8Array): Buffer {
  const made = Buffer.alloc(Math.ceil((body.length * 3) / 4))
  let length = 0
  let bits = 0
  let held = 0
  for (const byte of body) {
    if (byte === EQUALS) {
      held = 0
      continue
    }
    const six = SIX_BITS[byte] ?? -1
    if (six === -1) continue
    bits = ((bits << 6) | six) & 0xfff
    held += 6
    if (held < 8) continue
    held -= 8
    made[length++] = (bits >> held) & 0xff
  }
  return made.subarray(0, length)
}

/** Keeps an escape that is none, and removes blanks at the end of a line. (RFC 2045 6.7) */
function decodeQuotedPrintable(body: Buffer): Buffer {
  const made = Buffer.alloc(body.length)
  let length = 0
  /** Behind the last byte that is no blank. */
  let solid = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0
    if (byte === EQUALS) {
      const end = lineEndAt(body, at + 1)
      const escaped = escapedByte(body[at + 1], body[at + 2])
      if (end === undefined) made[length++] = escaped ?? EQUALS
      at = end === undefined ? at + (escaped === undefined ? 0 : 2) : end - 1
      solid = length
      continue
    }
    if (byte === LF || (byte === CR && body[at + 1] === LF)) length = solid
    made[length++] = byte
    if (byte !== SPACE && byte !== TAB) solid = length
  }
  return made.subarray(0, solid)
}

/** Behind the line end of a soft break, whose blanks some programs add; undefined where the line goes on. */
function lineEndAt(body: Buffer, from: number): number | undefined {
  let at = from
  while (body[at] === SPACE || body[at] === TAB) at++
  if (at === body.length) return at
  if (body[at] === CR && body[at + 1] === LF) return at + 2
  return body[at] === LF ? at + 1 : undefined
}

export function escapedByte(high = 0, low = 0): number | undefined {
  const value = (hexDigit(high) << 4) | hexDigit(low)
  return value < 0 ? undefined : value
}

/** Negative for a byte that is no digit. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte & ~0x20
  return letter >= 0x41 && letter <= 0x46 ? letter - 0x37 : -1
}
