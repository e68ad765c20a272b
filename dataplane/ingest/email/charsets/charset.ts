import { isUtf8 } from 'node:buffer'

import iconv from 'iconv-lite'

import { shiftedDecoderOf, type Decoded } from './shifted-charset.ts'

type Decoder = (bytes: Uint8Array) => Decoded

/** Labels of senders that name no charset: ASCII cannot be the charset of bytes past 0x7f. (RFC 1428, RFC 2046 4.1.2) */
const UNDECLARED: ReadonlySet<string> = new Set([
  '',
  'us-ascii',
  'ascii',
  'ansi_x3.4-1968',
  'iso646-us',
  'unknown-8bit',
])

/** Names that the Encoding Standard lacks, of charsets whose every text its decoder reads. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['csiso2022jp', 'iso-2022-jp'],
  ['iso-2022-jp-1', 'iso-2022-jp'],
  ['iso-2022-jp-2', 'iso-2022-jp'],
  ['iso-2022-jp-ms', 'iso-2022-jp'],
  ['cp50220', 'iso-2022-jp'],
  ['cp50221', 'iso-2022-jp'],
  ['cp51932', 'euc-jp'],
  ['cp51949', 'euc-kr'],
  // The byte order mark says which, and the commonest order without one.
  ['utf-16', 'iconv:utf-16'],
  ['utf16', 'iconv:utf-16'],
  ['ucs-2', 'iconv:utf-16'],
  ['iso-10646-ucs-2', 'iconv:utf-16'],
  ['csunicode', 'iconv:utf-16'],
])

/** Encodings of iconv-lite that are no charsets of mail. */
const NO_CHARSETS: ReadonlySet<string> = new Set(['base64', 'hex', 'binary', 'utf7imap'])

const LABEL_MAX = 64
const KEPT_MAX = 500
const kept = new Map<string, Decoder | undefined>()

/** The name of a charset as programs write it: in any case, quoted, or behind `charset=`. */
export function labelOf(given: string): string {
  return given
    .slice(0, 2 * LABEL_MAX)
    .trim()
    .replace(/^charset\s*=\s*/i, '')
    .replaceAll(/^["'\s]+|["'\s;]+$/g, '')
    .toLowerCase()
}

export function isUndeclared(label: string): boolean {
  return UNDECLARED.has(label)
}

/** Decodes bytes in the charset that `label` names; undefined for one that is not known. */
export function decodeAs(bytes: Uint8Array, label: string): Decoded | undefined {
  if (!kept.has(label)) {
    if (kept.size >= KEPT_MAX) kept.clear()
    kept.set(label, decoderOf(label))
  }
  return kept.get(label)?.(bytes)
}

/** Bytes without a charset: as a byte order mark says, UTF-8 where they are valid UTF-8, else windows-1252. */
export function decodeUndeclared(bytes: Uint8Array): string {
  const [first, second] = bytes
  const hasMark = (first === 0xfe && second === 0xff) || (first === 0xff && second === 0xfe)
  const label = hasMark ? 'utf-16' : isUtf8(bytes) ? 'utf-8' : 'windows-1252'
  return decodeAs(bytes, label)?.text ?? ''
}

function decoderOf(label: string): Decoder | undefined {
  if (label.length > LABEL_MAX) return undefined
  for (const name of [label, label.replace(/^x-/, ''), label.replaceAll('_', '-')]) {
    const alias = ALIASES.get(name) ?? name
    const decoder = alias.startsWith('iconv:')
      ? iconvDecoderOf(alias.slice('iconv:'.length))
      : (shiftedDecoderOf(alias) ?? platformDecoderOf(alias) ?? iconvDecoderOf(alias))
    if (decoder !== undefined) return decoder
  }
  return undefined
}

/** The decoders of the Encoding Standard read the supersets that programs write under older names. */
function platformDecoderOf(label: string): Decoder | undefined {
  let strict: TextDecoder
  try {
    strict = new TextDecoder(label, { fatal: true })
  } catch {
    return undefined
  }
  const lenient = new TextDecoder(label)
  return (bytes) => {
    try {
      return { text: strict.decode(bytes), isWhole: true }
    } catch {
      return { text: lenient.decode(bytes), isWhole: false }
    }
  }
}

function iconvDecoderOf(label: string): Decoder | undefined {
  if (NO_CHARSETS.has(label.replaceAll(/[^a-z0-9]/g, '')) || !iconv.encodingExists(label)) {
    return undefined
  }
  return (bytes) => {
    const text = iconv.decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), label)
    return { text, isWhole: !text.includes('\uFFFD') }
  }
}
