import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 37
const CHECKSUM_LENGTH = 6

/** API key, enrolment key, heartbeat token, agent token. (decisions: Rotation, keys, roles) */
export type SecretKind = 'sk' | 'enr' | 'hb' | 'ag'

/** A new secret as its owner sees it once. */
export interface NewSecret {
  text: string
  hash: Buffer
  /** The last four characters, to tell secrets apart in a list. */
  hint: string
}

/**
 * `<prefix>_<kind>_` + 37 random base62 characters + their CRC32 in 6 more, by which a secret scanner knows such a
 * secret.
 */
export function makeSecret(prefix: string, kind: SecretKind): NewSecret {
  const random = randomBase62(RANDOM_LENGTH)
  const text = `${prefix}_${kind}_${random}${checksum(random)}`
  return { text, hash: hashSecret(text), hint: text.slice(-4) }
}

/** The hash under which a secret is stored; undefined for what was never one of this installation. */
export function parseSecret(prefix: string, kind: SecretKind, text: string): Buffer | undefined {
  const start = `${prefix}_${kind}_`
  if (!text.startsWith(start)) return undefined
  const secret = text.slice(start.length)
  if (secret.length !== RANDOM_LENGTH + CHECKSUM_LENGTH || !/^[0-9A-Za-z]+$/.test(secret)) {
    return undefined
  }
  const random = secret.slice(0, RANDOM_LENGTH)
  return checksum(random) === secret.slice(RANDOM_LENGTH) ? hashSecret(text) : undefined
}

/** Hashes any text, so that refusing a text of the wrong form takes as long as refusing an unknown secret. */
export function hashSecret(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let n = 0; n < CHECKSUM_LENGTH; n++) {
    digits = (BASE62[rest % 62] ?? '') + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Bytes from 248 up are thrown away: 256 is no multiple of 62 and would favour the first letters. */
function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += BASE62[byte % 62] ?? ''
    }
  }
  return text
}
