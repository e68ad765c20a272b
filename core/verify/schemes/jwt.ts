import {
  constants,
  createHmac,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  verify as verifySignature,
} from 'node:crypto'

import { z } from 'zod'

import { type SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { affordsCheck, isUsualRsa, isValidAt } from '../request/asymmetric.ts'
import { decodedSlots, decodeExact, sameBytes, sha256 } from '../request/encoding.ts'
import {
  type Check,
  ConfigFault,
  type FetchedKey,
  type KeyLookup,
  type KeyRequest,
  type MemberPath,
  rejected,
  type SignedRequest,
  type Slot,
  type Step,
  VALID,
  withoutKey,
} from '../request/signed-request.ts'
import { type Reader, readerOf, singleAt, type View, viewOf, walk } from '../request/view.ts'
import { withoutPrefix } from './shared-secret.ts'

type JwtConfig = ConfigOf<'jwt'>
type Algorithm = JwtConfig['algorithms'][number]
type Claims = Readonly<Record<string, unknown>>

interface Scheme {
  config: JwtConfig
  read: Reader
  isSingle: (view: View) => boolean
  secrets: readonly (readonly [Slot, KeyObject])[]
  findKeys: FindKeys
}

interface Reading {
  request: SignedRequest
  nowMs: number
  keys: KeyLookup
  token: string
  /** The first two parts as they were signed. */
  signed: string
  alg: Algorithm
  kid: string | undefined
  claims: Claims
  signature: Buffer
  slot: Slot | 'none'
}

const CHECKS: readonly ((scheme: Scheme, reading: Reading) => Step)[] = [
  hasToken,
  tokenParses,
  timesParse,
  signatureMatches,
  claimsMatch,
  bodyMatches,
  isInTime,
]

/** A JSON Web Signature in compact form. Throws a ConfigFault. */
export function compileJwt(config: JwtConfig, slots: SecretSlots): Check {
  const usesSecret = config.keySource.kind === 'secret'
  if (config.algorithms.some((algorithm) => algorithm.startsWith('HS') !== usesSecret)) {
    throw new ConfigFault('HS algorithms go with a secret, the others with public keys', [
      'algorithms',
    ])
  }
  if (config.keySource.kind === 'plaid' && !config.algorithms.includes('ES256')) {
    throw new ConfigFault('Plaid signs with ES256', ['algorithms'])
  }
  requireAccount(config)
  const secrets = usesSecret ? decodedSlots(slots, 'utf8') : []
  const scheme: Scheme = {
    config,
    read: readerOf(config.token),
    isSingle: singleAt(config.token),
    secrets: secrets.map(([slot, secret]) => [slot, createSecretKey(secret)]),
    findKeys: keyFinder(config, slots),
  }
  return (request, nowMs, keys) => {
    const reading = readingOf(request, nowMs, keys)
    for (const check of CHECKS) {
      const step = check(scheme, reading)
      if (step !== undefined) return typeof step === 'string' ? rejected(step) : step
    }
    return VALID[reading.slot]
  }
}

function readingOf(request: SignedRequest, nowMs: number, keys: KeyLookup): Reading {
  return {
    request,
    nowMs,
    keys,
    token: '',
    signed: '',
    alg: 'HS256',
    kid: undefined,
    claims: {},
    signature: Buffer.alloc(0),
    slot: 'none',
  }
}

/** A key that a provider shares among its customers proves the provider, not the account. */
function requireAccount({ keySource, issuer, audience, claims }: JwtConfig): void {
  if (keySource.kind !== 'jwks') return
  const { hostname } = new URL(keySource.url)
  const isGoogle = hostname === 'googleapis.com' || hostname.endsWith('.googleapis.com')
  const isEntra = /(?:^|\.)(?:microsoftonline\.(?:com|us)|windows\.net)$/.test(hostname)
  const members: [MemberPath, value: unknown, isNeeded: boolean][] = [
    [['audience'], audience, isGoogle || isEntra],
    [['claims', 'email'], claims?.['email'], isGoogle],
    [['issuer'], issuer, isEntra],
  ]
  for (const [path, value, isNeeded] of members) {
    if (!isNeeded || value !== undefined) continue
    throw new ConfigFault(`Required with the keys of ${hostname}`, path)
  }
}

function hasToken({ read, isSingle }: Scheme, reading: Reading): Step {
  const view = viewOf(reading.request)
  reading.token = read(view)?.trim() ?? ''
  if (reading.token === '') return 'missing_signature_header'
  return isSingle(view) ? undefined : 'malformed_signature_header'
}

/** Longer than any provider's token; a longer one is not decoded. */
const TOKEN_LENGTH_MAX = 16 * 1024

function tokenParses({ config }: Scheme, reading: Reading): Step {
  const token = withoutPrefix(reading.token, config.token.prefix ?? '')?.trim()
  if (token === undefined || token.length > TOKEN_LENGTH_MAX) return 'malformed_signature_header'
  const [head = '', payload = '', tail = '', ...rest] = token.split('.')
  const header = readPart(head)
  const claims = readPart(payload)
  const signature = decodeExact(tail, 'base64url')
  const algorithm = config.algorithms.find((name) => name === header?.['alg'])
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) {
    return 'malformed_signature_header'
  }
  // `crit` names extensions that must be understood, and none is.
  if (algorithm === undefined || header['crit'] !== undefined) return 'malformed_signature_header'
  reading.signed = `${head}.${payload}`
  reading.alg = algorithm
  reading.kid = typeof header['kid'] === 'string' ? header['kid'] : undefined
  reading.claims = claims
  reading.signature = signature
  return undefined
}

function readPart(text: string): Claims | undefined {
  const bytes = decodeExact(text, 'base64url')
  if (bytes === undefined) return undefined
  try {
    return ClaimsSchema.safeParse(JSON.parse(bytes.toString('utf8'))).data
  } catch {
    return undefined
  }
}

const ClaimsSchema = z.record(z.string(), z.unknown())

const TIME_CLAIMS = ['iat', 'nbf', 'exp'] as const

function timesParse({ config }: Scheme, { claims }: Reading): Step {
  if (config.maxAgeSeconds !== undefined && own(claims, 'iat') === undefined) {
    return 'missing_timestamp_header'
  }
  const times = TIME_CLAIMS.map((name) => own(claims, name))
  const areNumbers = times.every((time) => time === undefined || Number.isFinite(time))
  return areNumbers ? undefined : 'malformed_timestamp'
}

function signatureMatches(scheme: Scheme, reading: Reading): Step {
  if (scheme.config.keySource.kind === 'secret') {
    const digest = DIGEST[reading.alg] ?? 'sha256'
    for (const [slot, key] of scheme.secrets) {
      const expected = createHmac(digest, key).update(reading.signed, 'latin1').digest()
      if (!sameBytes(reading.signature, expected)) continue
      reading.slot = slot
      return undefined
    }
    return 'signature_mismatch'
  }
  const found = scheme.findKeys(reading)
  if (!Array.isArray(found)) return found
  return found.some((key) => keyMatches(key, reading)) ? undefined : 'signature_mismatch'
}

function claimsMatch({ config }: Scheme, { claims }: Reading): Step {
  const { issuer, audience } = config
  const given = [own(claims, 'aud')].flat()
  const isFor = audience === undefined || audience.some((name) => given.includes(name))
  const isFrom = issuer === undefined || issuer.some((name) => name === own(claims, 'iss'))
  const agrees = Object.entries(config.claims ?? {}).every(
    ([name, value]) => walk(claims, [name]) === value,
  )
  return isFor && isFrom && agrees ? undefined : 'signature_mismatch'
}

function bodyMatches({ config }: Scheme, { claims, request }: Reading): Step {
  if (config.bodyHash === undefined) return undefined
  const { claim, encoding } = config.bodyHash
  const value = own(claims, claim)
  const given = typeof value === 'string' ? decodeExact(value, encoding) : undefined
  const matches = given !== undefined && sameBytes(given, sha256(request.body))
  return matches ? undefined : 'signature_mismatch'
}

function isInTime({ config }: Scheme, { claims, nowMs }: Reading): Step {
  const now = nowMs / 1000
  const skew = config.clockSkewSeconds
  const [iat, nbf, exp] = TIME_CLAIMS.map((name) => timeOf(claims, name))
  const isOld =
    config.maxAgeSeconds !== undefined && iat !== undefined && now - iat > config.maxAgeSeconds
  const isEarly = (nbf !== undefined && nbf > now + skew) || (iat !== undefined && iat > now + skew)
  const isExpired = exp !== undefined && now >= exp + skew
  return isOld || isEarly || isExpired ? 'timestamp_out_of_tolerance' : undefined
}

function timeOf(claims: Claims, name: string): number | undefined {
  const value = own(claims, name)
  return typeof value === 'number' ? value : undefined
}

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

type FindKeys = (reading: Reading) => FetchedKey[] | Exclude<Step, undefined>

function keyFinder({ keySource, algorithms }: JwtConfig, slots: SecretSlots): FindKeys {
  switch (keySource.kind) {
    case 'secret':
      return () => 'signature_mismatch'
    case 'inline': {
      const keys = keySource.keys.map((jwk, index) => inlineKey(jwk, index, algorithms))
      return ({ kid }) => named(keys, kid)
    }
    case 'jwks':
      return (reading) => {
        const request: KeyRequest = { kind: 'jwks', url: keySource.url, kid: reading.kid }
        return fetched(request, reading)
      }
    case 'plaid': {
      const { environment, clientId } = keySource
      const secrets = decodedSlots(slots, 'utf8').map(([, secret]) => secret.toString('utf8'))
      return (reading) => {
        const { kid } = reading
        if (kid === undefined) return 'malformed_signature_header'
        return fetched({ kind: 'plaid', environment, clientId, secrets, kid }, reading)
      }
    }
  }
}

function fetched(request: KeyRequest, { keys, kid, nowMs }: Reading): ReturnType<FindKeys> {
  const answer = keys(request)
  if (answer === undefined) return { kind: 'needs_key', request }
  if (answer.kind === 'failed') return withoutKey(answer)
  return named(answer.keys, kid).filter((key) => isValidAt(key, nowMs))
}

/** The keys of a name. A token without one is tried with each of few. */
function named(keys: readonly FetchedKey[], kid: string | undefined): FetchedKey[] {
  if (kid === undefined) return keys.slice(0, UNNAMED_KEYS_MAX)
  return keys.filter((key) => key.kid === kid || key.kid === undefined).slice(0, UNNAMED_KEYS_MAX)
}

const UNNAMED_KEYS_MAX = 10

function inlineKey(
  jwk: Readonly<Record<string, unknown>>,
  index: number,
  algorithms: readonly Algorithm[],
): FetchedKey {
  const path = ['keySource', 'keys', index]
  const key = readJwk(jwk)
  if (key === undefined) throw new ConfigFault('Expected a public key as a JWK', path)
  if (mayVerify(jwk) && algorithms.some((algorithm) => suits(key, algorithm))) return key
  throw new ConfigFault(`Expected a key that verifies ${algorithms.join(' or ')}`, path)
}

/** Whether a JWK may be used for signatures, as far as it says. (RFC 7517, sections 4.2 and 4.3) */
export function mayVerify({
  use,
  key_ops: operations,
}: Readonly<Record<string, unknown>>): boolean {
  const isForSignatures = use === undefined || use === 'sig'
  return isForSignatures && (!Array.isArray(operations) || operations.includes('verify'))
}

/** Undefined when it is not a public key that Node can use. */
export function readJwk(jwk: Readonly<Record<string, unknown>>): FetchedKey | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const text = (name: string): string | undefined =>
      typeof jwk[name] === 'string' ? jwk[name] : undefined
    return { key, kid: text('kid'), alg: text('alg') }
  } catch {
    return undefined
  }
}

const DIGEST: Readonly<Partial<Record<Algorithm, string>>> = {
  HS256: 'sha256',
  HS384: 'sha384',
  HS512: 'sha512',
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  PS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
}

const CURVE: Readonly<Partial<Record<Algorithm, string>>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
}

const PSS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
}

/** Whether a key is of the kind and curve that an algorithm uses, and not for another algorithm. */
function suits({ key, alg }: FetchedKey, algorithm: Algorithm): boolean {
  if (alg !== undefined && alg !== algorithm) return false
  if (algorithm.startsWith('ES')) {
    return key.asymmetricKeyDetails?.namedCurve === CURVE[algorithm]
  }
  return algorithm === 'EdDSA' ? key.asymmetricKeyType === 'ed25519' : isUsualRsa(key)
}

function keyMatches(fetchedKey: FetchedKey, { request, alg, signed, signature }: Reading): boolean {
  const { key } = fetchedKey
  if (!suits(fetchedKey, alg) || !affordsCheck(request, key, signed.length)) return false
  const data = Buffer.from(signed, 'latin1')
  const digest = DIGEST[alg] ?? null
  if (alg.startsWith('ES')) {
    return verifySignature(digest, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  }
  return verifySignature(digest, data, alg.startsWith('PS') ? { key, ...PSS } : key, signature)
}
