import { rootCertificates } from 'node:tls'

import { Agent, request, type Dispatcher } from 'undici'

import { Pace } from './pace.ts'
import { RelayAway, RelayError, RelayPaused } from './relay-error.ts'

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

export interface Called {
  body?: unknown
  query?: Record<string, string>
  projectId?: string | undefined
  idempotencyKey?: string
  rank?: 'first' | 'last'
}

/** How the last call went: what is known of the relay and of the key. */
export interface Standing {
  kind: 'good' | 'refused' | 'away'
  message: string
  at: number
}

// oxlint-disable-next-line typescript/no-explicit-any -- a resource of the relay, whatever its kind
export type Body = any

/** Calls of one API key to `/v1`. They share a pace, a pause and a refusal. */
export class RelayClient {
  readonly #credentials: Credentials
  readonly #dispatcher: Dispatcher
  readonly #fence: () => void
  readonly #count: (method: string, code: string) => void
  readonly #pace = new Pace()
  #pausedUntil = 0
  #refusedUntil = 0
  /** The share of the key's window that is left. */
  #left = 1
  standing: Standing | undefined

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
  }

  get isIdle(): boolean {
    return this.#pace.isIdle
  }

  /** Others use the key too, or we use it too much. */
  get isShort(): boolean {
    return this.#left < 0.2
  }

  async call(method: Dispatcher.HttpMethod, path: string, called: Called = {}): Promise<Body> {
    this.#refuseWhilePaused()
    await this.#pace.turn(called.rank)
    this.#refuseWhilePaused()
    const { status, text, headers } = await this.#send(method, path, called)
    this.#count(method, String(status))
    this.#note(status, text, headers)
    if (status < 300) return text === '' ? undefined : JSON.parse(text)
    if (status >= 500) throw new RelayAway(`The relay answered ${status}`)
    throw new RelayError(status, text)
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
    method: Dispatcher.HttpMethod,
    path: string,
    { body, query = {}, projectId, idempotencyKey }: Called,
  ): Promise<{
    status: number
    text: string
    headers: Record<string, string | string[] | undefined>
  }> {
    const { baseUrl, apiKey } = this.#credentials
    if (method !== 'GET') this.#fence()
    try {
      const response = await request(`${baseUrl}/v1${path}`, {
        dispatcher: this.#dispatcher,
        method,
        query,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: 'application/json',
          'user-agent': 'postern-operator',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(projectId !== undefined && { 'x-project-id': projectId }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        body: body === undefined ? null : JSON.stringify(body),
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
      const { message } = new RelayError(status, text)
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
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  return error.message === '' ? code : error.message
}
