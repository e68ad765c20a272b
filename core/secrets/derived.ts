import { createHash, hkdfSync } from 'node:crypto'

import type { Keyring } from './sealed.ts'

const KEY_BYTES = 32

/** SHA-256 over the parts, each with its length, so that `ab` + `c` never equals `a` + `bc`. */
export function digestOf(parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(part))
    hash.update(length).update(part)
  }
  return hash.digest()
}

/**
 * Keys of one purpose that need both the installation's keyring and a secret that is not stored: who has the database
 * and the keyring still cannot open what they sealed. The ids stay, so that a rotation of the keyring is followed.
 */
export function deriveKeyring(
  keyring: Keyring,
  secret: string,
  { salt, purpose }: { salt: Buffer; purpose: string },
): Keyring {
  return new Map(
    [...keyring].map(([id, key]) => [
      id,
      Buffer.from(
        hkdfSync('sha256', Buffer.concat([key, Buffer.from(secret)]), salt, purpose, KEY_BYTES),
      ),
    ]),
  )
}
