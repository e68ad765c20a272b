import { SIX_BITS } from './base64-alphabet.ts'

/*
 * Charsets of seven bits that shift between ASCII and something else, which a decoder of the platform reads once the shifts
 * are taken out.
 */

const SHIFT_OUT = 0x0e
const SHIFT_IN = 0x0f
const ESCAPE = 0x1b
const LF = 0x0a
const TILDE = 0x7e
const OPEN = 0x7b
const CLOSE = 0x7d
const HIGH = 0x80

/** `ESC $ ) C`, which names the set once. (RFC 1557) */
const KOREAN = Buffer.from('\x1b$)C', 'latin1')

/** `isWhole` is false where bytes are none of the charset: U+FFFD stands for them. */
export interface Decoded {
  text: string
  isWhole: boolean
}

export function shiftedDecoderOf(label: string): ((bytes: Uint8Array) => Decoded) | undefined {
  switch (label) {
    case 'iso-2022-jp':
      return (bytes) => decode(withoutEmptyRuns(bytes), 'iso-2022-jp')
    case 'iso-2022-kr':
    case 'csiso2022kr':
      return (bytes) => decode(koreanOf(bytes), 'euc-kr')
    case 'hz-gb-2312':
    case 'hz':
      return (bytes) => decode(chineseOf(bytes), 'gbk')
    case 'utf-7':
    case 'utf7':
    case 'csutf7':
    case 'unicode-1-1-utf-7':
    case 'csunicode11utf7':
      return (bytes) => decode(utf16Of(bytes), 'utf-16le')
    default:
      return undefined
  }
}

/** A byte that the seven bits leave over, such as another escape, is none of the charset. */
function decode(bytes: Uint8Array, label: string): Decoded {
  try {
    return { text: new TextDecoder(label, { fatal: true }).decode(bytes), isWhole: true }
  } catch {
    return { text: new TextDecoder(label).decode(bytes), isWhole: false }
  }
}

// oxlint-disable-next-line no-control-regex -- escapes are control characters
const ESCAPES = /\x1b[$(][@-J](?=\x1b[$(][@-J])/g

/** Without escapes that another follows at once: programs write them, and the Encoding Standard takes them for faults. */
function withoutEmptyRuns(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  return Buffer.from(text.replaceAll(ESCAPES, ''), 'latin1')
}

/** ISO-2022-KR: SO begins Korean, SI or the end of the line ends it. (RFC 1557) */
function koreanOf(bytes: Uint8Array): Uint8Array {
  const made = new Uint8Array(bytes.length)
  let length = 0
  let isShifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === ESCAPE && KOREAN.equals(bytes.subarray(at, at + KOREAN.length))) {
      at += KOREAN.length - 1
    } else if (byte === SHIFT_OUT) isShifted = true
    else if (byte === SHIFT_IN) isShifted = false
    else {
      if (byte === LF) isShifted = false
      made[length++] = byte === ESCAPE ? 0xff : shifted(byte, isShifted)
    }
  }
  return made.subarray(0, length)
}

/** HZ: `~{` begins Chinese, `~}` or the end of the line ends it, `~~` is a tilde. (RFC 1843) */
function chineseOf(bytes: Uint8Array): Uint8Array {
  const made = new Uint8Array(bytes.length)
  let length = 0
  let isShifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const next = bytes[at + 1]
    if (byte === TILDE && next === (isShifted ? CLOSE : OPEN)) {
      isShifted = !isShifted
      at++
    } else if (byte === TILDE && !isShifted && next === LF) at++
    else {
      if (byte === TILDE && !isShifted && next === TILDE) at++
      if (byte === LF) isShifted = false
      made[length++] = shifted(byte, isShifted)
    }
  }
  return made.subarray(0, length)
}

function shifted(byte: number, isShifted: boolean): number {
  return isShifted && byte > 0x20 && byte < 0x7f ? byte | HIGH : byte
}

const PLUS = 0x2b
const MINUS = 0x2d

/** UTF-7: a plus sign begins UTF-16 in base64, a byte that is none of it ends it, and a minus sign there is no text. (RFC 2152) */
function utf16Of(bytes: Uint8Array): Uint8Array {
  const made = Buffer.alloc(2 * bytes.length)
  let length = 0
  let held = 0
  let bits = 0
  let isShifted = false
  const put = (unit: number): void => {
    length = made.writeUInt16LE(unit, length)
  }
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const six = isShifted ? (SIX_BITS[byte] ?? -1) : -1
    if (six !== -1) {
      bits = (bits << 6) | six
      held += 6
      if (held >= 16) put((bits >> (held -= 16)) & 0xffff)
      bits &= (1 << held) - 1
    } else if (isShifted && byte === MINUS) {
      if (bytes[at - 1] === PLUS) put(PLUS)
      isShifted = false
    } else {
      isShifted = byte === PLUS
      held = 0
      // A byte past ASCII is none of UTF-7: half a surrogate pair stands for it.
      if (!isShifted) put(byte < 0x80 ? byte : 0xdc00)
    }
  }
  return made.subarray(0, length)
}
