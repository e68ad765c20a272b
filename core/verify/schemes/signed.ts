import { Location } from '../config/config-parts.ts'
import type { SignedConfig } from '../config/verifier-config.ts'
import { presetOf } from '../presets/presets.ts'
import {
  type Check,
  ConfigFault,
  type KeyLookup,
  rejected,
  type SignedRequest,
  type Slot,
  type Step,
  VALID,
} from '../request/signed-request.ts'
import { type Reader, readerOf, singleAt, type View, viewOf } from '../request/view.ts'
import {
  type Fits,
  type ParsedSignature,
  signatureParser,
  signatureReader,
} from './signature-parts.ts'
import type { Content, ContentSource } from './template.ts'
import { isFresh, parseTimestamp, type TimestampFormat } from './timestamp.ts'

/** `hmac` and `public_key`: a signature somewhere, over a template, with or without a time. */
interface Scheme {
  readSignatures: (view: View) => string[]
  parseSignatures: (values: readonly string[]) => ParsedSignature
  requiredHeaders: readonly (readonly [name: string, value: string])[]
  /** Whether what is signed or read at one place is there no more than once. */
  singles: readonly ((view: View) => boolean)[]
  readId: Reader | undefined
  timestamp: CompiledTimestamp | undefined
  match: Match
}

interface CompiledTimestamp {
  /** Undefined when the signature value itself holds the time. */
  read: Reader | undefined
  format: TimestampFormat
  toleranceSeconds: number
}

/** The findings of the checks about a request so far. */
export interface Reading extends ContentSource {
  view: View
  nowMs: number
  keys: KeyLookup
  values: string[]
  parsed: ParsedSignature
  id: string | undefined
  timestamp: string | undefined
  timestampMs: number
  slot: Slot | 'none'
  /** The content that the matching signature covers. */
  content: Content
}

/** The comparison: why it fails or a key to fetch; slot and content set in the reading when it does not. */
export type Match = (reading: Reading) => Step

const UNPARSED: ParsedSignature = { candidates: [], timestamp: undefined, pairs: undefined }

/**
 * Order matters: the first that fails names the reason. The signature comes before the tolerance, so that
 * `timestamp_out_of_tolerance` means the right secret, only late.
 */
const CHECKS: readonly ((scheme: Scheme, reading: Reading) => Step)[] = [
  hasSignature,
  hasRequiredHeaders,
  occursOnce,
  hasTimestamp,
  signatureParses,
  timestampParses,
  (scheme, reading) => scheme.match(reading),
  timestampIsFresh,
]

/** Compiles everything but the comparison itself, which `match` is. Throws a ConfigFault. */
export function compileSigned(config: SignedConfig, fits: Fits, match: Match): Check {
  const scheme = compileScheme(config, fits, match)
  const isForOnce = presetOf(config)?.forcesIdempotencyKeys === true
  return (request: SignedRequest, nowMs: number, keys: KeyLookup) => {
    const view = viewOf(request)
    const reading: Reading = {
      view,
      nowMs,
      keys,
      values: [],
      parsed: UNPARSED,
      id: undefined,
      timestamp: undefined,
      timestampMs: 0,
      slot: 'none',
      content: [],
    }
    for (const check of CHECKS) {
      const step = check(scheme, reading)
      if (step !== undefined) return typeof step === 'string' ? rejected(step) : step
    }
    const valid = VALID[reading.slot]
    return isForOnce ? { ...valid, once: signedText(reading.content) } : valid
  }
}

/** As a binary string: signed parts that follow one another may be cut anywhere, and are still the same. */
function signedText(content: Content): string {
  return content.map((part) => (typeof part === 'string' ? part : part.toString('latin1'))).join('')
}

function compileScheme(config: SignedConfig, fits: Fits, match: Match): Scheme {
  return {
    readSignatures: signatureReader(config.signature),
    parseSignatures: signatureParser(withTimestampKey(config), fits),
    requiredHeaders: Object.entries(config.requiredHeaders ?? {}).map(
      ([name, value]) => [name.toLowerCase(), value] as const,
    ),
    singles: placesOf(config).map(singleAt),
    readId: config.id === undefined ? undefined : readerOf(config.id),
    timestamp: compileTimestamp(config),
    match,
  }
}

/** Every place that a signature is read from or covers by name. */
function placesOf({ signature, timestamp, id, signedHeaders, content }: SignedConfig): Location[] {
  const places: Location[] = signature.names.map((name) => ({ in: signature.in, name }))
  if (timestamp !== undefined && timestamp.in !== 'signature') {
    places.push({ in: timestamp.in, name: timestamp.name ?? '' })
  }
  if (id !== undefined) places.push(id)
  if (signedHeaders?.in === 'header') places.push({ in: 'header', name: signedHeaders.name })
  for (const [, place, name = ''] of [content].flat().join('').matchAll(PLACEHOLDER)) {
    const isSorted = place === 'form' && name === 'sorted'
    if (!isSorted) places.push(Location.parse({ in: place, name }))
  }
  return places
}

const PLACEHOLDER = /\{(header|query|json|form)\.([^{}]+)\}/g

/** The key of the time may be named by either member. */
function withTimestampKey({ signature, timestamp }: SignedConfig): SignedConfig['signature'] {
  const named = timestamp?.in === 'signature' ? timestamp.name : undefined
  return { ...signature, timestampKey: signature.timestampKey ?? named }
}

function compileTimestamp(config: SignedConfig): CompiledTimestamp | undefined {
  const { timestamp } = config
  if (timestamp === undefined) return undefined
  const { format } = timestamp
  const toleranceSeconds = coversTimestamp(config) ? timestamp.toleranceSeconds : 0
  if (timestamp.in === 'signature') return { read: undefined, format, toleranceSeconds }
  if (timestamp.name === undefined) throw new ConfigFault('Required', ['timestamp', 'name'])
  const read = readerOf({ in: timestamp.in, name: timestamp.name })
  return { read, format, toleranceSeconds }
}

/** A time that the signature does not cover can be set at will: it is informational, never enforced. */
function coversTimestamp({ content, timestamp }: SignedConfig): boolean {
  const own = `{${timestamp?.in ?? ''}.${timestamp?.name ?? ''}}`.toLowerCase()
  return [content].flat().every((text) => {
    if (text.includes('{timestamp}') || text.toLowerCase().includes(own)) return true
    if (timestamp?.in === 'header') return text.includes('{signedHeaders}')
    return timestamp?.in !== 'signature' && /\{(?:body|form)/.test(text)
  })
}

function hasSignature(scheme: Scheme, reading: Reading): Step {
  reading.values = scheme.readSignatures(reading.view)
  return reading.values.length === 0 ? 'missing_signature_header' : undefined
}

function hasRequiredHeaders({ requiredHeaders }: Scheme, { view }: Reading): Step {
  for (const [name, expected] of requiredHeaders) {
    const value = view.request.headers[name]?.trim()
    if (value === undefined || value === '') return 'missing_signature_header'
    if (value !== expected) return 'unsupported_verifier'
  }
  return undefined
}

function occursOnce({ singles }: Scheme, { view }: Reading): Step {
  return singles.every((isSingle) => isSingle(view)) ? undefined : 'malformed_signature_header'
}

/** A signature that holds no time is judged as a signature first: garbage is malformed, not without a time. */
function hasTimestamp(scheme: Scheme, reading: Reading): Step {
  reading.id = scheme.readId?.(reading.view)
  reading.parsed = scheme.parseSignatures(reading.values)
  const { timestamp } = scheme
  if (timestamp === undefined) return undefined
  const { parsed } = reading
  reading.timestamp = timestamp.read === undefined ? parsed.timestamp : timestamp.read(reading.view)
  if (reading.timestamp !== undefined && reading.timestamp.trim() !== '') return undefined
  if (timestamp.read === undefined && parsed.candidates.length === 0) return undefined
  return 'missing_timestamp_header'
}

function signatureParses(_scheme: Scheme, { parsed }: Reading): Step {
  return parsed.candidates.length === 0 ? 'malformed_signature_header' : undefined
}

function timestampParses({ timestamp }: Scheme, reading: Reading): Step {
  if (timestamp === undefined) return undefined
  const ms = parseTimestamp(reading.timestamp ?? '', timestamp.format)
  if (ms === undefined) return 'malformed_timestamp'
  reading.timestampMs = ms
  return undefined
}

function timestampIsFresh({ timestamp }: Scheme, { timestampMs, nowMs }: Reading): Step {
  if (timestamp === undefined) return undefined
  const { format, toleranceSeconds } = timestamp
  return isFresh(timestampMs, format, { nowMs, toleranceSeconds })
    ? undefined
    : 'timestamp_out_of_tolerance'
}
