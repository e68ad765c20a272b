import { randomBytes } from 'node:crypto'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** The part of an ingest URL that names a source: 26 lower-case base32 characters of 128 random bits. */
export function newMaskId(): string {
  let bits = 0n
  for (const byte of randomBytes(16)) bits = (bits << 8n) | BigInt(byte)
  let text = ''
  for (let n = 0; n < 26; n++) {
    text += BASE32[Number(bits & 31n)] ?? ''
    bits >>= 5n
  }
  return text
}
