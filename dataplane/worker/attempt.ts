import type { Dispatcher } from 'undici'

import type { AttemptErrorCode } from '../../core/delivery/attempt-error.ts'
import { RESPONSE_BYTES_MAX, RESPONSE_KEPT_BYTES } from '../../core/limits.ts'
import { nowDoing } from '../../core/loop/watch.ts'
import type { ConnectPhases, Connection, Connections } from './connections.ts'
import { errorCodeOf } from './error-codes.ts'

/** One request, ready to go. */
export interface AttemptRequest {
  /** Whose connections it may use. */
  holder: string
  origin: string
  path: string
  method: 'POST' | 'PUT' | 'PATCH'
  /** Flat: name, value, name, value. */
  headers: string[]
  body: Buffer
  timeoutMs: number
  /** How much of the answer's body is kept, when not the first 16 KiB. */
  keptBytes?: number
}

/** What came of a request. Durations are milliseconds; a phase is null when it was not reached. */
export interface AttemptResponse {
  status: number | null
  /** Name and value pairs, as received. */
  headers: [string, string][]
  /** The first bytes. */
  body: Buffer | null
  error: AttemptErrorCode | null
  /** Behind an error `internal`. */
  fault?: unknown
  durationMs: number
  firstByteMs: number | null
  connect: ConnectPhases | null
}

/**
 * Sends one request under one deadline. Never throws: every failure is an `error`. A 2xx is a success once its headers
 * are read: its body is taken until it ends, breaks off, is at 1 MiB or the deadline passes. A request that finds a
 * connection at rest closed, before anything of an answer came, goes out once more on a new one.
 */
export function sendAttempt(
  connections: Connections,
  request: AttemptRequest,
): Promise<AttemptResponse> {
  return new Promise((resolve) => {
    new Exchange(connections, request, resolve).start()
  })
}

/** Of a request that was not sent. */
export function failed(error: AttemptErrorCode, fault?: unknown): AttemptResponse {
  return {
    status: null,
    headers: [],
    body: null,
    error,
    ...(error === 'internal' && { fault }),
    durationMs: 0,
    firstByteMs: null,
    connect: null,
  }
}

const NOT_CONNECTED: ConnectPhases = { dnsMs: 0, connectMs: 0, tlsMs: 0 }

/** undici's handler for one attempt. `dispatch` with a handler costs two thirds of `request`. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #connections: Connections
  readonly #request: AttemptRequest
  readonly #resolve: (response: AttemptResponse) => void
  readonly #startedAt = performance.now()
  readonly #deadline: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #connection: Connection
  #isReused = false
  #isRepeated = false
  #connect: ConnectPhases | null = null
  #status: number | null = null
  #headers: [string, string][] = []
  #firstByteMs: number | null = null
  #bytes = 0
  #kept = 0
  #isSettled = false

  constructor(
    connections: Connections,
    request: AttemptRequest,
    resolve: (response: AttemptResponse) => void,
  ) {
    this.#connections = connections
    this.#request = request
    this.#resolve = resolve
    this.#connection = connections.take(request.holder, request.origin)
    this.#deadline = setTimeout(() => this.#cut('timeout'), request.timeoutMs)
  }

  start(): void {
    nowDoing('starting an attempt', this.#startedAt)
    const { origin, path, method, headers, body } = this.#request
    this.#connection.client.dispatch({ origin, path, method, headers, body }, this)
  }

  onRequestStart(): void {
    const phases = this.#connection.begin()
    this.#isReused = phases === undefined
    this.#connect = phases ?? NOT_CONNECTED
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // undici reads it as any three digits.
    if (status < 200) return this.#cut('connection_reset')
    this.#status = status
    this.#firstByteMs = performance.now() - this.#startedAt
    this.#headers = pairsOf(headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = (this.#request.keptBytes ?? RESPONSE_KEPT_BYTES) - this.#kept
    if (room > 0) {
      // A copy: the chunk is a view of the socket's buffer.
      const kept = Buffer.from(chunk.subarray(0, room))
      this.#chunks.push(kept)
      this.#kept += kept.length
    }
    this.#bytes += chunk.length
    if (this.#bytes > RESPONSE_BYTES_MAX) this.#cut('response_too_large')
  }

  onResponseEnd(): void {
    this.#settle('bad_response')
    this.#connections.rest(this.#request.holder, this.#connection)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isSettled) return
    const code = errorCodeOf(error, this.#connection.stage)
    if (code === 'connection_reset' && this.#wasStale()) this.#repeat()
    else this.#settle(code, error)
  }

  /** The server had closed the connection, or was closing it, while it rested: it cannot have read the request. */
  #wasStale(): boolean {
    return this.#isReused && !this.#isRepeated && !this.#connection.hasHeard
  }

  #repeat(): void {
    this.#isRepeated = true
    const { holder, origin } = this.#request
    this.#connection = this.#connections.open(holder, origin)
    this.start()
  }

  #cut(error: AttemptErrorCode): void {
    this.#settle(error)
    this.#connection.destroy()
  }

  #settle(error: AttemptErrorCode, fault?: unknown): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    const isSuccess = this.#status !== null && this.#status >= 200 && this.#status < 300
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#status === null ? null : Buffer.concat(this.#chunks),
      error: isSuccess ? null : error,
      ...(error === 'internal' && { fault }),
      durationMs: performance.now() - this.#startedAt,
      firstByteMs: this.#firstByteMs,
      connect: this.#connect,
    })
  }
}

function pairsOf(headers: Record<string, string | string[] | undefined>): [string, string][] {
  const pairs: [string, string][] = []
  for (const name in headers) {
    const value = headers[name]
    if (Array.isArray(value)) for (const one of value) pairs.push([name, one])
    else pairs.push([name, value ?? ''])
  }
  return pairs
}
