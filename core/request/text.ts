import { isUtf8 } from 'node:buffer'

/*
 * A sender's texts are binary strings, one character per byte, until somebody has to read them: Node gives headers so, and
 * a signature covers bytes.
 */

/** Returns the UTF-8 bytes of a text as a binary string. */
export function toBinary(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** Read as UTF-8 where it is valid UTF-8, else as Latin-1. (decisions: Reading a request) */
export function decodeText(binary: string): string {
  if (!HAS_HIGH_BYTES.test(binary)) return binary
  const bytes = Buffer.from(binary, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : binary
}

export function isUtf8Text(binary: string): boolean {
  return !HAS_HIGH_BYTES.test(binary) || isUtf8(Buffer.from(binary, 'latin1'))
}

const HAS_HIGH_BYTES = /[\x80-\xff]/

/** The text with U+0000 and lone surrogates, which PostgreSQL's text and jsonb refuse, replaced by U+FFFD. */
export function cleanText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** Where the body begins behind its byte order mark, which some senders write and no format wants. */
export function startOf(body: Buffer): number {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
}

/** Whether ingest must refuse the body as `UNSUPPORTED_BODY`. (spec: Ingest) */
export function hasNul(body: Buffer): boolean {
  return body.includes(0)
}
