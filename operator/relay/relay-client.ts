import { rootCertificates } from 'node:tls'

import { Agent, request } from 'undici'

import { openPostern, PosternError, type Postern } from '../../clients/typescript/index.ts'
import { Pace } from './pace.ts'
import { RelayAway, RelayPaused } from './relay-error.ts'

const TIMEOUT_MS = 30_000
const CONNECTIONS_MAX = 8
/** A refused key is tried again after this time, or when it changes. */
const REFUSED_MS = 300_000
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

export interface Credentials {
  baseUrl: string
  apiKey: string
  ca: string | undefined
}

/** How the last call went: what is known of the relay and of the key. */
export interface Standing {
  kind: 'good' | 'refused' | 'away'
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
  readonly #pace = new Pace()
  #pausedUntil = 0
  #refusedUntil = 0
  /** The share of the key's window that is left. */
  #left = 1
  standing: Standing | undefined
  /** A relay and a key that have never worked may be written wrongly. */
  hasSucceeded = false

  constructor(
    credentials: Credentials,
    { fence, count }: { fence: () => void; count: (method: string, code: string) => void },
  ) {
    this.#credentials = credentials
    this.#fence = fence
    this.#count = count
    const { ca } = credentials
    const connect = ca === undefined ? {} : { ca: [...rootCertificates, ca] }
    this.#dispatcher = new Agent({ connections: CONNECTIONS_MAX, connect })
    this.api = this.#open('first')
    this.patientApi = this.#open('last')
  }

  get isIdle(): boolean {
    return this.#pace.isIdle
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
    this.#count(called.method, String(status))
    this.#note(status, text, headers)
    if (status >= 500) throw new RelayAway(`The relay answered ${status}`)
    return new Response(text === '' ? null : text, { status })
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
    try {
      const response = await request(url, {
        dispatcher: this.#dispatcher,
        method,
        headers: { ...headers, 'user-agent': 'postern-operator' },
        body,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        maxResponseSize: ANSWER_BYTES_MAX,
      } as Parameters<typeof request>[1])
      const text = await response.body.text()
      return { status: response.statusCode, text, headers: response.headers }
    } catch (error) {
      this.#count(method, 'error')
      const message = `The relay cannot be reached: ${reasonOf(error)}`
      this.standing = { kind: 'away', message, at: performance.now() }
      throw new RelayAway(message, { cause: error })
    }
  }

  #note(
    status: number,
    text: string,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const at = performance.now()
    const [limit, left] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) =>
      Number(headers[name]),
    )
    if (limit !== undefined && left !== undefined && limit > 0) this.#left = left / limit
    if (status === 401) {
      const { message } = new PosternError(status, parsed(text))
      this.standing = { kind: 'refused', message, at }
      this.#refusedUntil = at + REFUSED_MS
    } else if (status === 429) {
      const seconds = Number(headers['retry-after'])
      this.#pausedUntil = at + (seconds > 0 ? seconds : 5) * 1_000
      this.#pace.pause(this.#pausedUntil)
    } else if (status >= 500) {
      this.standing = { kind: 'away', message: `The relay answered ${status}`, at }
    } else {
      this.standing = { kind: 'good', message: 'The relay answers', at }
      this.hasSucceeded ||= status < 300
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return error.message === '' ? code : error.message
}
