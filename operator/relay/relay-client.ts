import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'

import { Agent, request } from 'undici'

import { openPostern, type Postern } from '../../clients/typescript/index.ts'
import { clientWaitMs } from '../../core/delivery/retry-after.ts'
import { Pace } from './pace.ts'
import {
  AnswerTooLong,
  NotPostern,
  RelayAway,
  RelayNotAllowed,
  RelayPaused,
} from './relay-error.ts'
import { verdictOf, type Verdict } from './verdict.ts'

/** A whole call, to the last byte of its answer. */
const CALL_MS = 30_000
/** A read that takes longer says that the relay does not answer; twice as long as the last one, where that was slow. */
const LATE_MS = 2_000
const LATE_MAX_MS = 10_000
const CONNECTIONS_MAX = 8
/** A refused key is tried again after this time, or when it changes. */
const REFUSED_MS = 300_000
/** After a 429 without a time. */
const PAUSE_MS = 5_000
/** Many relays may answer at once, and each chooses how long its answers are. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024

export interface Credentials {
  baseUrl: string
  apiKey: string
  ca: string | undefined
}

/** How the last call went: what is known of the relay and of the key. */
export interface Standing {
  kind: 'good' | 'refused' | 'away' | 'foreign' | 'forbidden'
  message: string
  at: number
}

// oxlint-disable-next-line typescript/no-explicit-any -- a resource of the relay, whatever its kind
export type Body = any

interface Called {
  method: string
  headers: Record<string, string>
  body: string | null
}

export interface RelayClientOptions {
  fence: () => void
  count: (method: string, code: string) => void
  /** Resolves the name of the relay to addresses that may be dialled. */
  lookup: LookupFunction
  /** `standing` or `lacked` is another, or the relay is `late` or late no more. */
  changed?: (what: 'standing' | 'late') => void
  /** How long a call may take, in milliseconds: 30 s unless given. */
  callMs?: number
}

/** A permission that the key lacks counts for so long after the last call that was refused for it. */
const LACKED_MS = 900_000

/** Calls of one API key to `/v1`. They share a pace, a pause and a refusal. */
export class RelayClient {
  /** Throws a `PosternError` for a refusal, `RelayAway` without an answer of use, `RelayPaused` without a call. */
  readonly api: Postern
  /** The same, behind all other calls. */
  readonly patientApi: Postern
  readonly #credentials: Credentials
  readonly #dispatcher: Agent
  readonly #fence: () => void
  readonly #count: (method: string, code: string) => void
  readonly #callMs: number
  readonly #pace = new Pace()
  readonly #changed: (what: 'standing' | 'late') => void
  #pausedUntil = 0
  /** Reads that have waited for longer than they may. */
  #late = 0
  #lastReadMs = 0
  #refusedUntil = 0
  /** The share of the key's window that is left. */
  #left = 1
  standing: Standing | undefined
  /** When the relay last took a call, on the monotonic clock; before the first one, when the client was made. */
  contactedAt = performance.now()
  /** A list has come. A relay and a key that have never worked may be written wrongly. */
  hasSucceeded = false
  /** Kinds of resources for which the key has been refused a call, and when that was. */
  readonly #lacked = new Map<string, number>()

  constructor(
    credentials: Credentials,
    { fence, count, lookup, changed, callMs = CALL_MS }: RelayClientOptions,
  ) {
    this.#credentials = credentials
    this.#fence = fence
    this.#count = count
    this.#changed = changed ?? (() => {})
    this.#callMs = callMs
    const { ca } = credentials
    const connect = { lookup, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) }
    this.#dispatcher = new Agent({
      connections: CONNECTIONS_MAX,
      connect,
      maxResponseSize: ANSWER_BYTES_MAX,
    })
    this.api = this.#open('first')
    this.patientApi = this.#open('last')
  }

  get isIdle(): boolean {
    return this.#pace.isIdle
  }

  /** A read is under way that takes too long. */
  get isLate(): boolean {
    return this.#late > 0
  }

  /** Others use the key too, or we use it too much. */
  get isShort(): boolean {
    return this.#left < 0.2
  }

  #open(rank: 'first' | 'last'): Postern {
    const { baseUrl: url, apiKey } = this.#credentials
    // Whoever reconciles tries again, and knows when.
    return openPostern({
      url,
      apiKey,
      retries: 0,
      fetch: async (to, called) => await this.#call(to, called, rank),
    })
  }

  async #call(url: string, called: Called, rank: 'first' | 'last'): Promise<Response> {
    this.#refuseWhilePaused()
    await this.#pace.turn(rank)
    this.#refuseWhilePaused()
    const { status, text, headers } = await this.#send(url, called)
    const { method } = called
    this.#count(method, String(status))
    this.#noteWindow(headers)
    const hasProject = called.headers['x-project-id'] !== undefined
    const verdict = verdictOf({ method, status, text, hasProject }, this.hasSucceeded)
    this.#note(verdict, clientWaitMs(headers['retry-after']), `${method} ${resourceOf(url)}`)
    if (verdict.kind === 'away') throw new RelayAway(verdict.message)
    if (verdict.kind === 'foreign') throw new NotPostern(verdict.message)
    if (verdict.kind === 'refused') return new Response(JSON.stringify(verdict.body), { status })
    return new Response(text === '' ? null : text, { status })
  }

  /**
   * Whether agents may enrol with a key; undefined when the answer decides neither. The relay checks the key before the body,
   * which is none that an agent could enrol by.
   */
  async takesEnrollmentKey(key: string): Promise<boolean | undefined> {
    // No header can carry another.
    if (!/^[\x21-\x7e]+$/.test(key)) return false
    this.#refuseWhilePaused()
    await this.#pace.turn('first')
    const { status, text } = await this.#send(
      `${this.#credentials.baseUrl}/v1/connectors/bootstrap`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{}',
      },
    )
    this.#count('POST', String(status))
    if (status === 401 && text.includes('"UNAUTHORIZED"')) return false
    return status === 400 && text.includes('"BAD_REQUEST"') ? true : undefined
  }

  /** Kinds of resources, such as `GET connectors`, that the key may not read or write. */
  get lacked(): readonly string[] {
    const since = performance.now() - LACKED_MS
    return [...this.#lacked].filter(([, at]) => at > since).map(([what]) => what)
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy()
  }

  #refuseWhilePaused(): void {
    const now = performance.now()
    if (this.#refusedUntil > now) {
      const message = this.standing?.message ?? 'The relay has refused the key'
      throw new RelayPaused(message, this.#refusedUntil, true)
    }
    if (this.#pausedUntil > now) {
      throw new RelayPaused('The relay has asked for a pause', this.#pausedUntil, false)
    }
  }

  async #send(
    url: string,
    { method, headers, body }: Called,
  ): Promise<{
    status: number
    text: string
    headers: Record<string, string | string[] | undefined>
  }> {
    if (method !== 'GET') this.#fence()
    using _watch = method === 'GET' ? this.#watch() : undefined
    try {
      const response = await request(url, {
        dispatcher: this.#dispatcher,
        method,
        headers: { ...headers, 'user-agent': 'postern-operator' },
        body,
        signal: AbortSignal.timeout(this.#callMs),
      })
      const text = await response.body.text()
      return { status: response.statusCode, text, headers: response.headers }
    } catch (error) {
      this.#count(method, 'error')
      const at = performance.now()
      if (hasErrorCode(error, 'ADDRESS_BLOCKED')) {
        const message = 'spec.baseUrl: its name has no address that a Relay may name'
        this.#stand({ kind: 'forbidden', message, at })
        throw new RelayNotAllowed(message, { cause: error })
      }
      if (hasErrorCode(error, 'UND_ERR_RES_EXCEEDED_MAX_SIZE')) {
        throw new AnswerTooLong(`The relay answers with more than ${ANSWER_BYTES_MAX} bytes`)
      }
      const message = `The relay cannot be reached: ${reasonOf(error)}`
      this.#stand({ kind: 'away', message, at })
      throw new RelayAway(message, { cause: error })
    }
  }

  /** Counts a read as late until it ends. */
  #watch(): Disposable {
    const began = performance.now()
    let isLate = false
    const timer = setTimeout(
      () => {
        isLate = true
        if (this.#late++ === 0) this.#changed('late')
      },
      Math.min(LATE_MAX_MS, Math.max(LATE_MS, 2 * this.#lastReadMs)),
    )
    return {
      [Symbol.dispose]: () => {
        clearTimeout(timer)
        this.#lastReadMs = performance.now() - began
        if (isLate && --this.#late === 0) this.#changed('late')
      },
    }
  }

  #noteWindow(headers: Record<string, string | string[] | undefined>): void {
    const [limit, left] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) =>
      Number(headers[name]),
    )
    if (limit !== undefined && left !== undefined && limit > 0) this.#left = left / limit
  }

  #note(verdict: Verdict, retryAfterMs: number | undefined, what: string): void {
    const at = performance.now()
    if (verdict.kind === 'away' || verdict.kind === 'foreign') {
      return this.#stand({ kind: verdict.kind, message: verdict.message, at })
    }
    if (verdict.kind === 'done') {
      this.hasSucceeded ||= verdict.isProof
      if (this.#lacked.delete(what)) this.#changed('standing')
    } else if (verdict.body.status === 401) {
      this.#refusedUntil = at + REFUSED_MS
      return this.#stand({ kind: 'refused', message: verdict.body.message, at })
    } else if (verdict.body.status === 429) {
      this.#pausedUntil = at + (retryAfterMs || PAUSE_MS)
      return this.#pace.pause(this.#pausedUntil)
    } else if (verdict.body.code === 'INSUFFICIENT_API_KEY_PERMISSIONS') {
      const isNew = !this.#lacked.has(what)
      this.#lacked.set(what, at)
      if (isNew) this.#changed('standing')
    }
    this.#stand({ kind: 'good', message: 'The relay answers', at })
  }

  #stand(standing: Standing): void {
    const before = this.standing?.kind
    this.standing = standing
    if (standing.kind === 'good') this.contactedAt = standing.at
    if (before !== standing.kind) this.#changed('standing')
  }
}

/** `connectors` of `https://relay.example.com/v1/connectors/cnr_1?limit=1`. */
function resourceOf(url: string): string {
  return new URL(url).pathname.split('/')[2] ?? ''
}

/** undici wraps the faults of several addresses into one. */
function hasErrorCode(error: unknown, code: string): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && error.code === code) return true
  const inner = error instanceof AggregateError ? error.errors : [error.cause]
  return inner.some((one) => hasErrorCode(one, code))
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return error.message === '' ? code : error.message
}
