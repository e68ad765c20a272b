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

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const VALUE = new Map(ALPHABET.split('').map((letter, index) => [letter, index]))
const TEXT_LENGTH = 26

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
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

/** `evt_01h…` for a uuid in text or bytes. */
export function encodeId(prefix: Prefix, id: string | Buffer): string {
  const bytes = typeof id === 'string' ? bytesOfUuid(id) : id
  let text = ''
  let bits = 0
  let held = 2 // 128 bits in 26 letters of 5 leave two zero bits in front.
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xffff
    held += 8
    while (held >= 5) {
      held -= 5
      text += ALPHABET[(bits >> held) & 31]
    }
  }
  return `${prefix}_${text}`
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
