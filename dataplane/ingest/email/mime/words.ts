import { decodeAs, decodeUndeclared, isUndeclared, labelOf } from '../charsets/charset.ts'
import type { Decoded } from '../charsets/shifted-charset.ts'
import { decodeBase64, escapedByte } from './transfer-encoding.ts'

/** A text that is not wholly as its sender wrote it; `label` is the charset or the transfer encoding, as it was named. */
export interface DecodingFault {
  cause: 'unknown_charset' | 'invalid_bytes' | 'unknown_encoding'
  label: string
}

export type Report = (fault: DecodingFault) => void

/** An encoded word: charset, a language that is passed over, encoding, text. (RFC 2047, RFC 2231 5) */
const WORD = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bq])\?([^?]*)\?=/gi

interface Word {
  label: string
  bytes: Buffer
  written: string
}

/** Decodes the encoded words of a header's text. A word of a charset that is not known stays as it is written. */
export function decodeWords(given: string, report: Report = () => {}): string {
  let text = ''
  let at = 0
  let run: Word[] = []
  const close = (): void => {
    text += decodeRun(run, report)
    run = []
  }
  for (const match of given.matchAll(WORD)) {
    const between = given.slice(at, match.index)
    const word = wordOf(match)
    const isJoined = run.length > 0 && /^[ \t\r\n]+$/.test(between)
    if (!isJoined || run[0]?.label !== word.label) close()
    if (!isJoined) text += literal(between)
    run.push(word)
    at = match.index + match[0].length
  }
  close()
  return text + literal(given.slice(at))
}

/** A break within a line is none that a reader should see. */
function literal(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}

function wordOf([written, charset = '', encoding = '', text = '']: RegExpExecArray): Word {
  return {
    label: labelOf(charset),
    bytes: encoding.toLowerCase() === 'b' ? decodeBase64(Buffer.from(text)) : decodeQ(text),
    written,
  }
}

/** Words of one charset. Some programs cut a character between two. */
function decodeRun(run: readonly Word[], report: Report): string {
  const label = run[0]?.label ?? ''
  const decoded = run.map(({ bytes }) => decodeWith(bytes, label))
  if (decoded.every((one) => one?.isWhole === true)) return decoded.map((one) => one?.text).join('')
  const joined = decodeWith(Buffer.concat(run.map(({ bytes }) => bytes)), label)
  if (joined?.isWhole !== true) {
    report({ cause: joined === undefined ? 'unknown_charset' : 'invalid_bytes', label })
  }
  return joined?.text ?? run.map(({ written }) => written).join(' ')
}

function decodeWith(bytes: Buffer, label: string): Decoded | undefined {
  if (isUndeclared(label)) return { text: decodeUndeclared(bytes), isWhole: true }
  return decodeAs(bytes, label)
}

function decodeQ(text: string): Buffer {
  return decodeEscapes(Buffer.from(text.replaceAll('_', ' ')), 0x3d)
}

/** Bytes with hexadecimal escapes behind `mark`; a mark without digits stands for itself. */
export function decodeEscapes(bytes: Buffer, mark: number): Buffer {
  const made = Buffer.alloc(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const escaped = byte === mark ? escapedByte(bytes[at + 1], bytes[at + 2]) : undefined
    made[length++] = escaped ?? byte
    if (escaped !== undefined) at += 2
  }
  return made.subarray(0, length)
}
