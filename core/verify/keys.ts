import { type Dispatcher, request as httpRequest } from 'undici'
import { z } from 'zod'

import { KEY_FETCHES_PER_ORGANISATION, KEY_FETCHES_PER_PROCESS } from '../limits.ts'
import { readCertificate } from './request/asymmetric.ts'
import {
  type FetchedKey,
  type KeyAnswer,
  type KeyRequest,
  rejected,
  type SignedRequest,
  type Verdict,
} from './request/signed-request.ts'
import { mayVerify, readJwk } from './schemes/jwt.ts'
import { type CompiledVerifier, verify } from './verify.ts'

/** (spec: verifiers, section 2) */
const FETCH_TIMEOUT_MS = 2_000
const RESPONSE_BYTES_MAX = 64 * 1024
const JWKS_FRESH_MS = 10 * 60_000
const CERT_FRESH_MS = 24 * 3_600_000
const PLAID_KEY_FRESH_MS = 10 * 60_000

/** After a failure, and between two looks for a key id that the set lacks. */
const RETRY_AFTER_MS = 30_000

/** With Plaid each key is fetched by the id that the sender gave: one invented id must not lock out a real one. */
const FAILURES_BEFORE_PAUSE = { jwks: 1, cert: 1, plaid: 20 } as const

/** Senders choose certificate URLs and key ids, so neither memory nor fetches may grow with them. */
const ENTRIES_MAX = 500
const FAILURES_MAX = 500

/** Verifiers that need more keys than this for one request do not exist: `all_of` has five members. */
const KEYS_PER_REQUEST_MAX = 5

const NONE: KeyAnswer = { kind: 'found', keys: [] }

interface Entry {
  answer: Extract<KeyAnswer, { kind: 'found' }>
  fetchedAtMs: number
  /** When it was last looked for a key id that was not in it. */
  triedAtMs: number
}

interface Failures {
  count: number
  /** The last one in words. */
  why: string
  sinceMs: number
}

/** Every fetch that the holder, or all, may have under way is: the same request may be verified a moment later. */
export class KeysBusy extends Error {
  override readonly name = 'KeysBusy'
}

/** Where keys come from, and on whose account they are fetched. */
export interface Keys {
  store: KeyStore
  holder: string
}

/**
 * Verdict with keys fetched where they must be. A promise only then: everything else stays synchronous. Rejects with
 * `KeysBusy` when a key cannot be fetched now.
 */
export function verifyWithKeys(
  compiled: CompiledVerifier,
  request: SignedRequest,
  nowMs: number,
  keys: Keys,
): Verdict | Promise<Verdict> {
  const verdict = verify(compiled, request, nowMs, (wanted) => keys.store.peek(wanted, nowMs))
  return verdict.kind === 'needs_key'
    ? verifyAfterFetch({ compiled, request, nowMs, keys }, verdict.request)
    : verdict
}

async function verifyAfterFetch(
  on: { compiled: CompiledVerifier; request: SignedRequest; nowMs: number; keys: Keys },
  first: KeyRequest,
): Promise<Verdict> {
  const answers = new Map<string, KeyAnswer>()
  let wanted = first
  for (let fetches = 0; fetches < KEYS_PER_REQUEST_MAX; fetches += 1) {
    answers.set(askedFor(wanted), await on.keys.store.fetch(wanted, on.nowMs, on.keys.holder))
    const verdict = verify(on.compiled, on.request, on.nowMs, (other) =>
      answers.get(askedFor(other)),
    )
    if (verdict.kind !== 'needs_key') return verdict
    wanted = verdict.request
  }
  return rejected('verifier_misconfigured', 'The verifier needs too many keys for one request')
}

/**
 * Fetches and keeps JWKS, certificates and Plaid's keys. All traffic goes through `dispatcher`, which must refuse
 * addresses that are not public. Each key has at most one fetch at a time; a cached key survives a failed refresh.
 */
export class KeyStore {
  readonly #dispatcher: Dispatcher
  readonly #entries = new Map<string, Entry>()
  readonly #failures = new Map<string, Failures>()
  readonly #underway = new Map<string, Promise<KeyAnswer>>()
  /** How many of them each holder has. */
  readonly #fetching = new Map<string, number>()

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher
  }

  /** The cached answer, or undefined when it must be fetched. */
  peek(wanted: KeyRequest, nowMs: number): KeyAnswer | undefined {
    const entry = this.#entries.get(heldAs(wanted))
    const { count, why } = this.#failuresOf(wanted, nowMs)
    const isPaused = count >= FAILURES_BEFORE_PAUSE[wanted.kind]
    if (entry === undefined) return isPaused ? { kind: 'failed', why } : undefined
    const isFresh = nowMs - entry.fetchedAtMs < FRESH_MS[wanted.kind]
    const isComplete = holds(entry, wanted) || nowMs - entry.triedAtMs < RETRY_AFTER_MS
    return isPaused || (isFresh && isComplete) ? entry.answer : undefined
  }

  /** Joins a fetch of the same key that is under way. Rejects with `KeysBusy` and nothing else. */
  async fetch(wanted: KeyRequest, nowMs: number, holder: string): Promise<KeyAnswer> {
    const known = this.peek(wanted, nowMs)
    if (known !== undefined) return known
    const name = heldAs(wanted)
    const underway = this.#underway.get(name)
    if (underway !== undefined) return await underway
    const held = this.#fetching.get(holder) ?? 0
    if (this.#underway.size >= KEY_FETCHES_PER_PROCESS || held >= KEY_FETCHES_PER_ORGANISATION) {
      const kept = this.#entries.get(name)?.answer
      if (kept === undefined) throw new KeysBusy('Too many keys are being fetched')
      return kept
    }
    this.#fetching.set(holder, held + 1)
    const fetching = this.#fetch(wanted, nowMs).finally(() => {
      this.#underway.delete(name)
      this.#free(holder)
    })
    this.#underway.set(name, fetching)
    return await fetching
  }

  #free(holder: string): void {
    const held = (this.#fetching.get(holder) ?? 0) - 1
    if (held > 0) this.#fetching.set(holder, held)
    else this.#fetching.delete(holder)
  }

  #failuresOf(wanted: KeyRequest, nowMs: number): Failures {
    const failures = this.#failures.get(pausedAs(wanted))
    const isRecent = failures !== undefined && nowMs - failures.sinceMs < RETRY_AFTER_MS
    return isRecent ? failures : { count: 0, why: '', sinceMs: nowMs }
  }

  async #fetch(wanted: KeyRequest, nowMs: number): Promise<KeyAnswer> {
    const name = heldAs(wanted)
    try {
      const keys = await inTime(READ[wanted.kind](wanted, this.#dispatcher))
      const answer = { kind: 'found', keys } as const
      this.#failures.delete(pausedAs(wanted))
      keep(this.#entries, name, { answer, fetchedAtMs: nowMs, triedAtMs: nowMs }, ENTRIES_MAX)
      return answer
    } catch (error) {
      const { count, sinceMs } = this.#failuresOf(wanted, nowMs)
      const why = `Cannot get ${whatOf(wanted)}: ${causeOf(error)}`
      keep(this.#failures, pausedAs(wanted), { count: count + 1, why, sinceMs }, FAILURES_MAX)
      if (error instanceof NoSuchKey) return NONE
      return this.#entries.get(name)?.answer ?? { kind: 'failed', why }
    }
  }
}

const FRESH_MS = { jwks: JWKS_FRESH_MS, cert: CERT_FRESH_MS, plaid: PLAID_KEY_FRESH_MS } as const

/** The provider knows no key of this id: the sender invented it. */
class NoSuchKey extends Error {
  override readonly name = 'NoSuchKey'
}

function holds({ answer }: Entry, wanted: KeyRequest): boolean {
  return (
    wanted.kind !== 'jwks' ||
    wanted.kid === undefined ||
    answer.keys.some((key) => key.kid === wanted.kid || key.kid === undefined)
  )
}

/** For people: never with a secret. */
function whatOf(wanted: KeyRequest): string {
  return wanted.kind === 'plaid' ? 'the key of Plaid' : wanted.url.slice(0, CAUSE_LENGTH_MAX)
}

/** Longest cause that is passed on. Ours. */
const CAUSE_LENGTH_MAX = 300

/** The cause of a failed fetch, without the text of the answer, which is foreign. */
function causeOf(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError) return 'the answer holds no keys'
  if (!(error instanceof Error)) return 'unknown'
  if ('code' in error && String(error.code).startsWith('ERR_OSSL')) {
    return 'the answer holds no certificate'
  }
  if (error.name === 'TimeoutError') return `no answer within ${FETCH_TIMEOUT_MS / 1000} s`
  return error.message.slice(0, CAUSE_LENGTH_MAX)
}

/** Name of a cache entry: a whole JWKS, one certificate, one key of Plaid. */
function heldAs(wanted: KeyRequest): string {
  if (wanted.kind !== 'plaid') return `${wanted.kind} ${wanted.url}`
  return `plaid ${wanted.environment} ${wanted.clientId} ${wanted.kid}`
}

/** Name of the fetches that a failure pauses: with Plaid all keys of the client, because the sender chooses the key id. */
function pausedAs(wanted: KeyRequest): string {
  return wanted.kind === 'plaid' ? `plaid ${wanted.environment} ${wanted.clientId}` : heldAs(wanted)
}

function askedFor(wanted: KeyRequest): string {
  return wanted.kind === 'jwks' ? `${heldAs(wanted)} ${wanted.kid ?? ''}` : heldAs(wanted)
}

/** The newest last; the oldest goes. */
function keep<V>(map: Map<string, V>, name: string, value: V, max: number): void {
  map.delete(name)
  map.set(name, value)
  const [oldest] = map.keys()
  if (map.size > max && oldest !== undefined) map.delete(oldest)
}

type Read = (wanted: KeyRequest, dispatcher: Dispatcher) => Promise<FetchedKey[]>

const READ: Readonly<Record<KeyRequest['kind'], Read>> = {
  jwks: readJwks,
  cert: readCert,
  plaid: readPlaidKey,
}

const Jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(100) })

async function readJwks(wanted: KeyRequest, dispatcher: Dispatcher): Promise<FetchedKey[]> {
  if (wanted.kind !== 'jwks') throw new TypeError(`Not a JWKS: ${wanted.kind}`)
  const { keys } = Jwks.parse(JSON.parse(await get(wanted.url, dispatcher)))
  return keys
    .filter(mayVerify)
    .map((key) => readJwk(key))
    .filter((key) => key !== undefined)
}

async function readCert(wanted: KeyRequest, dispatcher: Dispatcher): Promise<FetchedKey[]> {
  if (wanted.kind !== 'cert') throw new TypeError(`Not a certificate: ${wanted.kind}`)
  return [readCertificate(await get(wanted.url, dispatcher))]
}

const PlaidKey = z.object({ key: z.record(z.string(), z.unknown()) })

/** A key with `expired_at` has no valid moment left. */
async function readPlaidKey(wanted: KeyRequest, dispatcher: Dispatcher): Promise<FetchedKey[]> {
  if (wanted.kind !== 'plaid') throw new TypeError(`Not a key of Plaid: ${wanted.kind}`)
  const url = `https://${wanted.environment}.plaid.com/webhook_verification_key/get`
  for (const secret of wanted.secrets) {
    const body = JSON.stringify({ client_id: wanted.clientId, secret, key_id: wanted.kid })
    const answer = await send(url, dispatcher, body)
    if (answer.status === 400 && /INVALID_WEBHOOK_VERIFICATION_KEY_ID/.test(answer.text)) {
      throw new NoSuchKey(`Plaid has no key ${wanted.kid}`)
    }
    if (answer.status !== 200) continue
    const { key } = PlaidKey.parse(JSON.parse(answer.text))
    const isExpired = key['expired_at'] !== undefined && key['expired_at'] !== null
    const read = readJwk(key)
    if (read === undefined) throw new Error('the answer holds no key')
    return isExpired ? [] : [{ ...read, kid: wanted.kid }]
  }
  throw new Error('Plaid accepts neither the client id with the secret nor the key id')
}

async function get(url: string, dispatcher: Dispatcher): Promise<string> {
  const { status, text } = await send(url, dispatcher)
  if (status !== 200) throw new Error(`status ${status}`)
  return text
}

/** A request that waits for its connection hears of no signal. */
async function inTime<T>(reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer within 2 s')), FETCH_TIMEOUT_MS)
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Follows no redirect: a host that was checked must not hand over to one that was not. */
async function send(
  url: string,
  dispatcher: Dispatcher,
  body?: string,
): Promise<{ status: number; text: string }> {
  if (!url.startsWith('https://')) throw new Error('not https')
  const response = await httpRequest(url, {
    dispatcher,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: '*/*',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > RESPONSE_BYTES_MAX) throw new Error('more than 64 KiB')
    chunks.push(chunk)
  }
  return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') }
}
