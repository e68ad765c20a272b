import { Readable } from 'node:stream'

import type { Dispatcher } from 'undici'

import { RESPONSE_BYTES_MAX, RESPONSE_KEPT_BYTES } from '../../limits.ts'
import { nowDoing } from '../../loop/watch.ts'
import type { AttemptErrorCode } from '../attempt-error.ts'
import type { AttemptRequest, AttemptResponse, ConnectPhases, Transport } from '../transport.ts'
import { errorCodeOf } from './error-codes.ts'
import type { Connection, Connections } from './http-connections.ts'

/**
 * Dials the destination itself. A 2xx is a success once its headers are read: its body is taken until it ends, breaks
 * off, is at 1 MiB or the deadline passes. A request that finds a connection at rest closed, before anything of an
 * answer came, goes out once more on a new one.
 */
export function directTransport(connections: Connections): Transport {
  return (request) =>
    new Promise((resolve) => {
      new Exchange(connections, request, resolve).start()
    })
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
  /** A body that was being read broke off. */
  #bodyFault: unknown
  #isSettled = false

  constructor(
    connections: Connections,
    request: AttemptRequest,
    resolve: (response: AttemptResponse) => void,
  ) {
    this.#connections = connections
    this.#request = request
    this.#resolve = resolve
    // A stream can be sent once, so it must not meet a connection that the server is closing.
    this.#connection = Buffer.isBuffer(request.body)
      ? connections.take(request)
      : connections.open(request)
    this.#deadline = setTimeout(() => this.#cut('timeout'), request.timeoutMs)
    request.signal?.addEventListener('abort', this.#abort)
  }

  start(): void {
    nowDoing('starting an attempt', this.#startedAt)
    if (this.#request.signal?.aborted === true) return this.#abort()
    const { origin, path, method, headers, body: given } = this.#request
    const body = Buffer.isBuffer(given) ? given : Readable.from(this.#read(given))
    this.#connection.client.dispatch({ origin, path, method, headers, body }, this)
  }

  async *#read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      this.#bodyFault = error
      throw error
    }
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
    if (this.#bodyFault !== undefined) return this.#settle('internal', this.#bodyFault)
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
    this.#connection = this.#connections.open(this.#request)
    this.start()
  }

  readonly #abort = (): void => this.#cut('connection_reset')

  #cut(error: AttemptErrorCode): void {
    this.#settle(error)
    this.#connection.destroy()
  }

  #settle(error: AttemptErrorCode, fault?: unknown): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    this.#request.signal?.removeEventListener('abort', this.#abort)
    const isSuccess = this.#status !== null && this.#status >= 200 && this.#status < 300
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#status === null ? null : Buffer.concat(this.#chunks),
      error: isSuccess ? null : error,
      ...(fault !== undefined && !isSuccess && { fault }),
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
