import { type KeyObject, verify as verifySignature } from 'node:crypto'

import { compileMac, type Mac } from '../../mac.ts'
import type { SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { affordsCheck, ed25519Key } from '../request/asymmetric.ts'
import {
  decodeExact,
  decodeSecret,
  decodeSecretBase64,
  sameBytes,
  slotsBy,
} from '../request/encoding.ts'
import {
  type Check,
  ConfigFault,
  rejected,
  type RejectionReason,
  type SignedRequest,
  type Slot,
  VALID,
} from '../request/signed-request.ts'
import { isSingleHeader } from '../request/view.ts'
import { affordsHash } from '../request/work.ts'
import { CANDIDATES_MAX, ITEMS_MAX } from './signature-parts.ts'
import { isFresh, parseTimestamp } from './timestamp.ts'

/** Secret keys sign `v1`, key pairs `v1a`; both over `id.timestamp.body`. (Standard Webhooks 1.0) */
interface Scheme {
  families: readonly Family[]
  secrets: readonly (readonly [Slot, Mac])[]
  publicKeys: readonly KeyObject[]
  toleranceSeconds: number
}

interface Family {
  id: string
  timestamp: string
  signature: string
}

interface Reading {
  request: SignedRequest
  nowMs: number
  id: string
  timestamp: string
  timestampMs: number
  signature: string
  family: Family
  v1: Buffer[]
  v1a: Buffer[]
  slot: Slot | 'none'
}

type Step = RejectionReason | undefined

const CHECKS: readonly ((scheme: Scheme, reading: Reading) => Step)[] = [
  hasSignature,
  hasId,
  hasTimestamp,
  occursOnce,
  signatureParses,
  timestampParses,
  signatureMatches,
  timestampIsFresh,
]

const NO_FAMILY: Family = { id: '', timestamp: '', signature: '' }
const MAC_BYTES = 32
const ED25519_SIGNATURE_BYTES = 64
const ED25519_KEY_BYTES = 32

/** Throws a ConfigFault. Without public keys a secret is needed. */
export function compileStandardWebhooks(
  config: ConfigOf<'standard_webhooks'>,
  slots: SecretSlots,
): Check {
  const publicKeys = (config.publicKeys ?? []).map(readPublicKey)
  const needsSecret = publicKeys.length === 0 || slots.current !== undefined
  const scheme: Scheme = {
    families: config.headerPrefixes.map(familyOf),
    secrets: needsSecret ? macsOf(slots, config.secretEncoding) : [],
    publicKeys,
    toleranceSeconds: config.toleranceSeconds,
  }
  return (request, nowMs) => {
    const reading = readingOf(request, nowMs)
    for (const check of CHECKS) {
      const reason = check(scheme, reading)
      if (reason !== undefined) return rejected(reason)
    }
    return VALID[reading.slot]
  }
}

function readingOf(request: SignedRequest, nowMs: number): Reading {
  return {
    request,
    nowMs,
    id: '',
    timestamp: '',
    timestampMs: 0,
    signature: '',
    family: NO_FAMILY,
    v1: [],
    v1a: [],
    slot: 'none',
  }
}

function familyOf(prefix: string): Family {
  const start = prefix.toLowerCase()
  return { id: `${start}id`, timestamp: `${start}timestamp`, signature: `${start}signature` }
}

type SecretEncoding = ConfigOf<'standard_webhooks'>['secretEncoding']

function macsOf(slots: SecretSlots, encoding: SecretEncoding): [Slot, Mac][] {
  return slotsBy(slots, (secret) => readKeys(secret, encoding)).flatMap(([slot, keys]) =>
    keys.map((key): [Slot, Mac] => [slot, compileMac('sha256', key)]),
  )
}

/**
 * The keys that a secret can stand for. Senders that take the text itself as the key show secrets that read as base64
 * too, and the other way round, so there both count.
 */
export function readKeys(secret: string | undefined, encoding: SecretEncoding): Buffer[] {
  const text = (secret?.trim() ?? '').replace(/^v1,(?=whsec_)/, '')
  const hasPrefix = text.startsWith('whsec_')
  const bare = hasPrefix ? text.slice('whsec_'.length) : text
  if (encoding === 'base64' || (encoding === 'prefixed' && hasPrefix)) {
    return [decodeSecret(bare, 'base64')]
  }
  const decoded = decodeSecretBase64(bare)
  return [decodeSecret(text, 'utf8'), ...(decoded === undefined ? [] : [decoded])]
}

function readPublicKey(text: string, index: number): KeyObject {
  const bytes = text.startsWith('whpk_') ? decodeSecretBase64(text.slice(5)) : undefined
  if (bytes?.length !== ED25519_KEY_BYTES) {
    throw new ConfigFault('Expected whpk_ and base64 of 32 bytes', ['publicKeys', index])
  }
  return ed25519Key(bytes)
}

/** Id, time and signature are read from the one family that brought a signature. */
function hasSignature({ families }: Scheme, reading: Reading): Step {
  const { headers } = reading.request
  for (const family of families) {
    const signature = headers[family.signature]
    if (signature === undefined || signature.trim() === '') continue
    reading.signature = signature
    reading.family = family
    reading.id = headers[family.id] ?? ''
    reading.timestamp = headers[family.timestamp] ?? ''
    return undefined
  }
  return 'missing_signature_header'
}

function hasId(_scheme: Scheme, { id }: Reading): Step {
  return id.trim() === '' ? 'missing_id_header' : undefined
}

function hasTimestamp(_scheme: Scheme, { timestamp }: Reading): Step {
  return timestamp.trim() === '' ? 'missing_timestamp_header' : undefined
}

/** An id beside the signed one, in the other family, is the sender's to choose: it must not name the event. */
function occursOnce({ families }: Scheme, { request, family, id }: Reading): Step {
  const isSingle = [family.id, family.timestamp, family.signature].every((name) =>
    isSingleHeader(request, name),
  )
  const ids = families.map((other) => request.headers[other.id] ?? id)
  return isSingle && ids.every((other) => other === id) ? undefined : 'malformed_signature_header'
}

function signatureParses(_scheme: Scheme, reading: Reading): Step {
  for (const item of reading.signature.split(' ', ITEMS_MAX)) {
    if (item.startsWith('v1,')) add(reading.v1, item.slice(3), MAC_BYTES)
    else if (item.startsWith('v1a,')) add(reading.v1a, item.slice(4), ED25519_SIGNATURE_BYTES)
  }
  return reading.v1.length + reading.v1a.length === 0 ? 'malformed_signature_header' : undefined
}

function add(candidates: Buffer[], text: string, length: number): void {
  if (candidates.length >= CANDIDATES_MAX) return
  const bytes = decodeExact(text, 'base64')
  if (bytes?.length === length) candidates.push(bytes)
}

function timestampParses(_scheme: Scheme, reading: Reading): Step {
  const ms = parseTimestamp(reading.timestamp, 'unix')
  if (ms === undefined) return 'malformed_timestamp'
  reading.timestampMs = ms
  return undefined
}

/** A full stop in the id could move the border between id and time: the specification forbids it. */
function signatureMatches(scheme: Scheme, reading: Reading): Step {
  const { id, timestamp, request } = reading
  if (id.includes('.')) return 'signature_mismatch'
  const head = `${id}.${timestamp}.`
  for (const [slot, mac] of reading.v1.length === 0 ? [] : scheme.secrets) {
    if (!affordsHash(request, request.body.length)) return 'signature_mismatch'
    const expected = mac([head, request.body])
    if (!reading.v1.some((candidate) => sameBytes(candidate, expected))) continue
    reading.slot = slot
    return undefined
  }
  if (reading.v1a.length === 0 || scheme.publicKeys.length === 0) return 'signature_mismatch'
  const data = Buffer.concat([Buffer.from(head, 'latin1'), request.body])
  const matches = scheme.publicKeys.some((key) =>
    reading.v1a.some(
      (candidate) =>
        affordsCheck(request, key, data.length) && verifySignature(null, data, key, candidate),
    ),
  )
  return matches ? undefined : 'signature_mismatch'
}

function timestampIsFresh({ toleranceSeconds }: Scheme, { timestampMs, nowMs }: Reading): Step {
  return isFresh(timestampMs, 'unix', { nowMs, toleranceSeconds })
    ? undefined
    : 'timestamp_out_of_tolerance'
}
