import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The installation's encryption keys: the first seals, each opens what it sealed. */
export type Keyring = ReadonlyMap<string, Buffer>

/** Reads `base64` or `id:base64,id:base64`, each of 32 bytes. Throws without showing any key. */
export function readKeyring(text: string): Keyring {
  const keys = text.split(',').map((item): [string, Buffer] => {
    const [id = '', encoded] = item.trim().split(':')
    const key = Buffer.from(encoded ?? id, 'base64')
    if (key.length !== 32) {
      throw new Error('Cannot read POSTERN_ENCRYPTION_KEY: each key must be base64 of 32 bytes')
    }
    return [encoded === undefined ? '0' : id, key]
  })
  return new Map(keys)
}

/** What every value sealed under the keyring's first key begins with. */
export function headerOf(keyring: Keyring): Buffer {
  const [first] = keyring
  if (first === undefined) throw new Error('Cannot seal: the keyring is empty')
  const [id] = first
  return Buffer.concat([Buffer.from([Buffer.byteLength(id)]), Buffer.from(id)])
}

/** Layout: length of the key's id (1 byte), id, nonce, tag, ciphertext. The id is authenticated. */
export function seal(keyring: Keyring, value: unknown): Buffer {
  const [first] = keyring
  if (first === undefined) throw new Error('Cannot seal: the keyring is empty')
  const [, key] = first
  const header = headerOf(keyring)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(header)
  const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return Buffer.concat([header, nonce, cipher.getAuthTag(), text])
}

/** The value that was sealed, still to be parsed by its schema. Throws when the key is unknown or a byte was changed. */
export function unseal(keyring: Keyring, sealed: Buffer): unknown {
  const headerEnd = 1 + (sealed[0] ?? 0)
  const id = sealed.toString('utf8', 1, headerEnd)
  const key = keyring.get(id)
  if (key === undefined) throw new Error(`Cannot unseal: encryption key "${id}" is not configured`)
  const nonceEnd = headerEnd + NONCE_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(headerEnd, nonceEnd))
    .setAAD(sealed.subarray(0, headerEnd))
    .setAuthTag(sealed.subarray(nonceEnd, nonceEnd + TAG_BYTES))
  const text = Buffer.concat([
    decipher.update(sealed.subarray(nonceEnd + TAG_BYTES)),
    decipher.final(),
  ])
  return JSON.parse(text.toString('utf8'))
}
