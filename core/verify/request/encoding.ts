import { createHash, timingSafeEqual } from 'node:crypto'

import type { SecretSlots } from '../config/secrets.ts'
import { ConfigFault, type Slot } from './signed-request.ts'

export type SignatureEncoding = 'hex' | 'base64' | 'base64url'

/** Undefined for anything but the exact encoding: Node's decoders skip what they do not know. */
export function decodeExact(text: string, encoding: SignatureEncoding): Buffer | undefined {
  if (text.length === 0) return undefined
  const bytes = Buffer.from(text, encoding)
  if (encoding === 'hex') return bytes.length * 2 === text.length ? bytes : undefined
  return unpadded(bytes.toString(encoding)) === unpadded(text) ? bytes : undefined
}

function unpadded(base64: string): string {
  if (base64.endsWith('==')) return base64.slice(0, -2)
  return base64.endsWith('=') ? base64.slice(0, -1) : base64
}

/** Standard base64 with or without padding, as secrets come. Undefined when it is not, or decodes to nothing. */
export function decodeSecretBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const digits = text.replaceAll('=', '').length
  return digits % 4 === 1 ? undefined : Buffer.from(text, 'base64')
}

/** How a secret text becomes key bytes. `sha1` is Braintree's. Throws a ConfigFault. */
export function decodeSecret(
  secret: string | undefined,
  encoding: 'utf8' | 'base64' | 'hex' | 'sha1',
): Buffer {
  const text = secret?.trim() ?? ''
  if (text === '') throw new ConfigFault('The verifier has no secret', ['secret'])
  if (encoding === 'utf8') return Buffer.from(text, 'utf8')
  if (encoding === 'sha1') return createHash('sha1').update(text).digest()
  const bytes = encoding === 'hex' ? decodeExact(text, 'hex') : decodeSecretBase64(text)
  if (bytes === undefined) throw new ConfigFault(`The secret is not valid ${encoding}`, ['secret'])
  return bytes
}

/** The secrets to try, current first. A previous one that cannot be decoded never verified anything. */
export function decodedSlots(
  slots: SecretSlots,
  encoding: Parameters<typeof decodeSecret>[1],
): [Slot, Buffer][] {
  return slotsBy(slots, (secret) => decodeSecret(secret, encoding))
}

/** Maps each secret; throws the ConfigFault of the current one and leaves a faulty previous one out. */
export function slotsBy<T>(
  { current, previous }: SecretSlots,
  read: (secret: string | undefined) => T,
): [Slot, T][] {
  const first: [Slot, T] = ['current', read(current)]
  if (previous === undefined) return [first]
  try {
    return [first, ['previous', read(previous)]]
  } catch (error) {
    if (error instanceof ConfigFault) return [first]
    throw error
  }
}

/** Hashes a binary string or a Buffer. Comparing digests hides both length and content. */
export function sha256(value: string | Buffer): Buffer {
  return typeof value === 'string'
    ? createHash('sha256').update(value, 'latin1').digest()
    : createHash('sha256').update(value).digest()
}

/** Constant time for values of equal, public length; false for any other. */
export function sameBytes(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
