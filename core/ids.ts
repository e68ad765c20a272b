import { randomFillSync } from 'node:crypto'

/** TypeID prefixes of every resource. (decisions: Conventions of the API) */
export type Prefix =
  | 'org'
  | 'usr'
  | 'prj'
  | 'src'
  | 'dst'
  | 'con'
  | 'evt'
  | 'dlv'
  | 'att'
  | 'cnr'
  | 'rpl'
  | 'key'
  | 'agt'
  | 'opr'
  | 'inv'
  | 'alr'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const VALUE = new Map(ALPHABET.split('').map((letter, index) => [letter, index]))
const TEXT_LENGTH = 26
const PREFIX_LENGTH = 3

const LETTERS = Buffer.from(ALPHABET)
const HYPHEN = 45
const UNDERSCORE = 95

/** The value of each hexadecimal digit, by its character code. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? 0 : value
})

/** Where ids are put together: thousands a second are written into log lines. */
const idBytes = Buffer.alloc(16)
const idText = Buffer.alloc(PREFIX_LENGTH + 1 + TEXT_LENGTH)

let lastMs = 0
let counter = 0
const random = Buffer.alloc(8 * 512)
let randomOffset = random.length

/**
 * The 16 bytes of a new UUIDv7 for `nowMs`. Ids of one process sort in the order they were made: a clock that
 * stands or steps back a little keeps the last millisecond and counts on in the 12 bits after it.
 */
export function newIdBytes(nowMs: number): Buffer {
  if (nowMs > lastMs || nowMs < lastMs - 10_000) {
    lastMs = nowMs
    counter = 0
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  if (randomOffset === random.length) {
    randomFillSync(random)
    randomOffset = 0
  }
  const bytes = Buffer.allocUnsafe(16)
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  random.copy(bytes, 8, randomOffset, (randomOffset += 8))
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes
}

/** A new UUIDv7 in its usual text form, as PostgreSQL prints it. */
export function newId(nowMs: number): string {
  return uuidOfBytes(newIdBytes(nowMs))
}

export function uuidOfBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function bytesOfUuid(uuid: string): Buffer {
  const bytes = Buffer.allocUnsafe(16)
  writeUuid(bytes, uuid, 0)
  return bytes
}

/** Writes its 16 bytes, letter by letter: a string without the hyphens would be one more for each id. */
export function writeUuid(buffer: Buffer, uuid: string, at: number): void {
  let from = 0
  for (let n = 0; n < 16; n++) {
    if (uuid.charCodeAt(from) === HYPHEN) from++
    const high = DIGITS[uuid.charCodeAt(from++)] ?? 0
    buffer[at + n] = (high << 4) | (DIGITS[uuid.charCodeAt(from++)] ?? 0)
  }
}

/** `evt_01h…` for a uuid in text or bytes. */
export function encodeId(prefix: Prefix, id: string | Buffer): string {
  if (typeof id !== 'string') return encodeBytes(prefix, id)
  writeUuid(idBytes, id, 0)
  return encodeBytes(prefix, idBytes)
}

function encodeBytes(prefix: Prefix, bytes: Buffer): string {
  let length = idText.write(prefix, 'latin1')
  idText[length++] = UNDERSCORE
  let bits = 0
  let held = 2 // 128 bits in 26 letters of 5 leave two zero bits in front.
  for (let n = 0; n < 16; n++) {
    bits = ((bits << 8) | (bytes[n] ?? 0)) & 0xffff
    held += 8
    while (held >= 5) {
      held -= 5
      idText[length++] = LETTERS[(bits >> held) & 31] ?? 0
    }
  }
  return idText.toString('latin1', 0, length)
}

/** The uuid inside a TypeID; undefined when the prefix, length or alphabet is wrong. */
export function decodeId(prefix: Prefix, text: string): string | undefined {
  if (text.length !== prefix.length + 1 + TEXT_LENGTH || !text.startsWith(`${prefix}_`))
    return undefined
  const bytes = Buffer.allocUnsafe(16)
  let bits = 0
  let held = -2
  let at = 0
  for (const letter of text.slice(prefix.length + 1)) {
    const value = VALUE.get(letter)
    if (value === undefined || (held === -2 && value > 7)) return undefined
    bits = ((bits << 5) | value) & 0xffff
    held += 5
    if (held >= 8) {
      held -= 8
      bytes[at++] = (bits >> held) & 0xff
    }
  }
  return uuidOfBytes(bytes)
}

/** The moment inside a UUIDv7, in milliseconds: the `createdAt` of what it names. */
export function timeOfId(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}

/** The smallest UUIDv7 of a millisecond: a bound for ranges over ids. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The ids next to an id in order: they turn a bound that is not included into one that is. */
export function idAfter(uuid: string): string {
  return beside(uuid, 1n)
}

export function idBefore(uuid: string): string {
  return beside(uuid, -1n)
}

function beside(uuid: string, by: bigint): string {
  const hex = (BigInt(`0x${uuid.replaceAll('-', '')}`) + by).toString(16)
  return uuidOfBytes(Buffer.from(hex.padStart(32, '0'), 'hex'))
}
