import {
  createPublicKey,
  type KeyObject,
  verify as verifySignature,
  X509Certificate,
} from 'node:crypto'

import { decodeExact, decodeSecretBase64 } from './encoding.ts'
import {
  ConfigFault,
  type FetchedKey,
  type MemberPath,
  type SignedRequest,
} from './signed-request.ts'
import { affords } from './work.ts'

export type PublicKeyAlgorithm = 'ed25519' | 'ecdsa_p256_sha256' | 'rsa_sha256' | 'rsa_sha1'

const ED25519_BYTES = 32
const ED25519_SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const ED25519_SIGNATURE_BYTES = 64
const RSA_SIGNATURE_BYTES_MIN = 64
const RSA_SIGNATURE_BYTES_MAX = 1024

/** Reads PEM, base64 SPKI, or a raw Ed25519 key in base64 or hex. Throws a ConfigFault. */
export function readPublicKey(
  text: string,
  algorithm: PublicKeyAlgorithm,
  path: MemberPath,
): KeyObject {
  const key = parseKey(text.trim(), algorithm)
  if (key === undefined || !suits(key, algorithm)) {
    throw new ConfigFault(`Expected ${KEY_FORM[algorithm]}`, path)
  }
  return key
}

const RSA_FORM =
  'an RSA public key of at most 8,192 bits with an exponent below 2^32: PEM or base64 SPKI'

const KEY_FORM: Readonly<Record<PublicKeyAlgorithm, string>> = {
  ed25519: 'an Ed25519 public key: PEM, base64 SPKI, or its 32 bytes in hex or base64',
  ecdsa_p256_sha256: 'a public key of the curve P-256: PEM or base64 SPKI',
  rsa_sha256: RSA_FORM,
  rsa_sha1: RSA_FORM,
}

function parseKey(text: string, algorithm: PublicKeyAlgorithm): KeyObject | undefined {
  try {
    // Node would derive the public key of a private one, which then stays in a readable place.
    if (text.includes('PRIVATE KEY')) return undefined
    if (text.startsWith('-----BEGIN')) return createPublicKey(text)
    const bytes = decodeExact(text, 'hex') ?? decodeSecretBase64(text)
    if (bytes === undefined) return undefined
    if (algorithm === 'ed25519' && bytes.length === ED25519_BYTES) return ed25519Key(bytes)
    return createPublicKey({ key: bytes, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

export function ed25519Key(raw: Buffer): KeyObject {
  const spki = Buffer.concat([ED25519_SPKI_PREFIX, raw])
  return createPublicKey({ key: spki, format: 'der', type: 'spki' })
}

/** Whether a key is of the kind and curve that an algorithm uses. */
function suits(key: KeyObject, algorithm: PublicKeyAlgorithm): boolean {
  if (key.type !== 'public') return false
  switch (algorithm) {
    case 'ed25519':
      return key.asymmetricKeyType === 'ed25519'
    case 'ecdsa_p256_sha256':
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    case 'rsa_sha256':
    case 'rsa_sha1':
      return isUsualRsa(key)
  }
}

const RSA_BITS_MAX = 8_192
const RSA_EXPONENT_MAX = 2n ** 32n

/** Whether it is an RSA key that is checked fast: with some keys one operation takes longer than a turn of the loop. */
export function isUsualRsa({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = Infinity, publicExponent = RSA_EXPONENT_MAX } = asymmetricKeyDetails ?? {}
  return (
    asymmetricKeyType === 'rsa' &&
    modulusLength <= RSA_BITS_MAX &&
    publicExponent < RSA_EXPONENT_MAX
  )
}

/** Bytes that could be hashed while a key of few bits checks a signature. */
const OPERATION_BYTES = 128 * 1024
const FEW_BITS = 2_048

/** Whether a request may cost another check of a signature over so many bytes. */
export function affordsCheck(request: SignedRequest, key: KeyObject, bytes: number): boolean {
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  const factor = Math.max(1, (modulusLength / FEW_BITS) ** 2)
  return affords(request, bytes + OPERATION_BYTES * factor)
}

/** Whether bytes can be a signature of the algorithm at all. */
export function fitsAlgorithm(algorithm: PublicKeyAlgorithm): (bytes: Buffer) => boolean {
  switch (algorithm) {
    case 'ed25519':
      return (bytes) => bytes.length === ED25519_SIGNATURE_BYTES
    case 'ecdsa_p256_sha256':
      return isDerSignature
    case 'rsa_sha256':
    case 'rsa_sha1':
      return ({ length }) => length >= RSA_SIGNATURE_BYTES_MIN && length <= RSA_SIGNATURE_BYTES_MAX
  }
}

/** PKCS1 v1.5 for RSA, DER for ECDSA. False for a key of another kind. */
export function signatureMatches(
  algorithm: PublicKeyAlgorithm,
  key: KeyObject,
  { data, signature }: { data: Buffer; signature: Buffer },
): boolean {
  if (!suits(key, algorithm)) return false
  return verifySignature(DIGEST[algorithm], data, key, signature)
}

const DIGEST: Readonly<Record<PublicKeyAlgorithm, string | null>> = {
  ed25519: null,
  ecdsa_p256_sha256: 'sha256',
  rsa_sha256: 'sha256',
  rsa_sha1: 'sha1',
}

/** The leaf certificate of PEM text, as a key with its validity. Throws when it is none. */
export function readCertificate(pem: string): FetchedKey {
  const certificate = new X509Certificate(pem)
  return {
    key: certificate.publicKey,
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  }
}

export function isValidAt(key: FetchedKey, nowMs: number): boolean {
  return (key.validFromMs ?? -Infinity) <= nowMs && nowMs <= (key.validToMs ?? Infinity)
}

/** SEQUENCE of exactly two INTEGERs. */
function isDerSignature(bytes: Buffer): boolean {
  if (bytes[0] !== 0x30 || bytes[1] !== bytes.length - 2) return false
  const first = integerEnd(bytes, 2)
  return first !== undefined && integerEnd(bytes, first) === bytes.length
}

function integerEnd(bytes: Buffer, at: number): number | undefined {
  const length = bytes[at + 1]
  if (bytes[at] !== 0x02 || length === undefined || length === 0) return undefined
  return at + 2 + length
}
