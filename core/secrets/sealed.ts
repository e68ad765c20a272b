import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** In the place of a key id's length, which is 1 or more. */
const PLACED = 0

/** First byte of every value that is sealed for a place. */
export const PLACED_HEADER = Buffer.from([PLACED])
const KEY_BYTES = 32

/** The installation's encryption keys: the first seals, each opens what it sealed. */
export type Keyring = ReadonlyMap<string, Buffer>

/** Both alphabets, with or without the padding: what 32 bytes become. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/
const UNNAMED = '0'

/** The faults of a text like `base64` or `id:base64,id:base64`, in words that reveal nothing of it. */
export function keyringFaults(text: string): string[] {
  const items = text.split(',').map(partsOf)
  const faults = items.flatMap(({ id, encoded }, index) => {
    const name = items.length === 1 ? 'the key' : `key ${index + 1}`
    if (!KEY_ID.test(id)) {
      return [`${name} must have an id of 1 to 64 letters, digits, dots, dashes or underscores`]
    }
    if (KEY.test(encoded) && bytesOf(encoded).length === KEY_BYTES) return []
    return [`${name} must be base64 of 32 bytes, ${foundIn(encoded)}`]
  })
  const ids = items.map(({ id }) => id)
  if (new Set(ids).size < ids.length) {
    faults.push(`two keys have the same id: give each its own, as in id:base64,id:base64`)
  }
  return faults
}

/** Reads `base64` or `id:base64,id:base64`, each of 32 bytes. Throws without showing any key. */
export function readKeyring(text: string): Keyring {
  const faults = keyringFaults(text)
  if (faults.length > 0) {
    throw new Error(`Cannot read POSTERN_ENCRYPTION_KEY: ${faults.join('; ')}`)
  }
  return new Map(text.split(',').map((item) => [partsOf(item).id, bytesOf(partsOf(item).encoded)]))
}

/** A key without an id is the one that an installation begins with. */
function partsOf(item: string): { id: string; encoded: string } {
  const text = item.trim()
  const at = text.indexOf(':')
  return at === -1
    ? { id: UNNAMED, encoded: text }
    : { id: text.slice(0, at), encoded: text.slice(at + 1) }
}

function bytesOf(encoded: string): Buffer {
  return Buffer.from(encoded, 'base64')
}

function foundIn(encoded: string): string {
  if (encoded === '') return 'and is empty'
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return 'and holds other characters'
  return `and is ${bytesOf(encoded).length} bytes`
}

/** First bytes of every value that is sealed for a place under the keyring's first key. */
export function headerOf(keyring: Keyring): Buffer {
  const [first] = keyring
  if (first === undefined) throw new Error('Cannot seal: the keyring is empty')
  const [id] = first
  return Buffer.concat([Buffer.from([PLACED, Buffer.byteLength(id)]), Buffer.from(id)])
}

/**
 * Layout: 0, length of the key's id (1 byte), id, nonce, tag, ciphertext. Header and `place` are authenticated: the value
 * opens nowhere else. Without a place, for keys that are made for one value, the 0 is left out.
 */
export function seal(keyring: Keyring, value: unknown, place?: string): Buffer {
  const [first] = keyring
  if (first === undefined) throw new Error('Cannot seal: the keyring is empty')
  const [, key] = first
  const header = place === undefined ? headerOf(keyring).subarray(1) : headerOf(keyring)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(authenticated(header, place))
  const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return Buffer.concat([header, nonce, cipher.getAuthTag(), text])
}

/**
 * The value that was sealed, still to be parsed by its schema. Throws when the key is unknown, a byte was changed or it
 * was sealed for another place. A value without a place opens anywhere; `bindSecrets` leaves none.
 */
export function unseal(keyring: Keyring, sealed: Buffer, place?: string): unknown {
  const isPlaced = sealed[0] === PLACED
  const idStart = isPlaced ? 2 : 1
  const headerEnd = idStart + (sealed[idStart - 1] ?? 0)
  const id = sealed.toString('utf8', idStart, headerEnd)
  const key = keyring.get(id)
  if (key === undefined) throw new Error(`Cannot unseal: encryption key "${id}" is not configured`)
  const nonceEnd = headerEnd + NONCE_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(headerEnd, nonceEnd))
    .setAAD(authenticated(sealed.subarray(0, headerEnd), isPlaced ? place : undefined))
    .setAuthTag(sealed.subarray(nonceEnd, nonceEnd + TAG_BYTES))
  const text = Buffer.concat([
    decipher.update(sealed.subarray(nonceEnd + TAG_BYTES)),
    decipher.final(),
  ])
  return JSON.parse(text.toString('utf8'))
}

function authenticated(header: Buffer, place: string | undefined): Buffer {
  return place === undefined ? header : Buffer.concat([header, Buffer.from(place)])
}
