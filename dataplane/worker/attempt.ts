import type { Dispatcher } from 'undici'

import type { AttemptErrorCode } from '../../core/delivery/attempt-error.ts'
import { RESPONSE_BYTES_MAX, RESPONSE_KEPT_BYTES } from '../../core/limits.ts'
import type { ConnectPhases, GuardedDispatcher } from './dispatcher.ts'

/** One request to a destination, ready to go. */
export interface AttemptRequest {
  origin: string
  path: string
  method: 'POST' | 'PUT' | 'PATCH'
  /** Flat: name, value, name, value. */
  headers: string[]
  body: Buffer
  timeoutMs: number
}

/** What came of a request. Durations are milliseconds; a phase is null when it was not reached. */
export interface AttemptResponse {
  status: number | null
  /** Name and value pairs, as received. */
  headers: [string, string][]
  /** The first 16 KiB. */
  body: Buffer | null
  error: AttemptErrorCode | null
  durationMs: number
  firstByteMs: number | null
  connect: ConnectPhases | null
  /** When the body is let go of, where that is later: a request that waits for a connection keeps it until that fails. */
  bodyFree: Promise<void> | null
}

/** Sends one request under one deadline. Never throws: every failure is an `error`. */
export function sendAttempt(
  dispatcher: GuardedDispatcher,
  request: AttemptRequest,
): Promise<AttemptResponse> {
  return new Promise((resolve) => {
    new Exchange(dispatcher, request, resolve).start()
  })
}

const NOT_CONNECTED: ConnectPhases = { dnsMs: 0, connectMs: 0, tlsMs: 0 }

/** undici's handler for one attempt. `dispatch` with a handler costs two thirds of `request`. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #dispatcher: GuardedDispatcher
  readonly #request: AttemptRequest
  readonly #resolve: (response: AttemptResponse) => void
  readonly #startedAt = performance.now()
  readonly #deadline: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #controller: Dispatcher.DispatchController | undefined
  #connect: ConnectPhases | null = null
  #status: number | null = null
  #headers: [string, string][] = []
  #firstByteMs: number | null = null
  #bytes = 0
  #kept = 0
  #isSettled = false
  #letGo: (() => void) | undefined

  constructor(
    dispatcher: GuardedDispatcher,
    request: AttemptRequest,
    resolve: (response: AttemptResponse) => void,
  ) {
    this.#dispatcher = dispatcher
    this.#request = request
    this.#resolve = resolve
    this.#deadline = setTimeout(() => this.#abort('timeout'), request.timeoutMs)
  }

  start(): void {
    const { origin, path, method, headers, body } = this.#request
    try {
      this.#dispatcher.agent.dispatch({ origin, path, method, headers, body }, this)
    } catch (error) {
      this.#settle(errorCodeOf(error))
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#connect = this.#dispatcher.takePhases(this.#request.origin) ?? NOT_CONNECTED
    if (!this.#isSettled) return
    controller.abort(new Error('The deadline passed before a connection was free'))
    this.#letGo?.()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#firstByteMs = performance.now() - this.#startedAt
    this.#headers = pairsOf(headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > RESPONSE_BYTES_MAX) {
      this.#abort('response_too_large')
      return
    }
    const room = RESPONSE_KEPT_BYTES - this.#kept
    if (room <= 0) return
    // A copy: the chunk is a view of the socket's buffer.
    const kept = Buffer.from(chunk.subarray(0, room))
    this.#chunks.push(kept)
    this.#kept += kept.length
  }

  onResponseEnd(): void {
    const isSuccess = this.#status !== null && this.#status >= 200 && this.#status < 300
    this.#settle(isSuccess ? null : 'bad_response')
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(errorCodeOf(error))
    this.#letGo?.()
  }

  #abort(error: AttemptErrorCode): void {
    if (this.#controller === undefined) this.#settle(error, this.#untilLetGo())
    else this.#settle(error)
    this.#controller?.abort(new Error(`Attempt ended: ${error}`))
  }

  #untilLetGo(): Promise<void> {
    return new Promise((resolve) => {
      this.#letGo = resolve
    })
  }

  #settle(error: AttemptErrorCode | null, bodyFree: Promise<void> | null = null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#status === null ? null : Buffer.concat(this.#chunks),
      error,
      durationMs: performance.now() - this.#startedAt,
      firstByteMs: this.#firstByteMs,
      connect: this.#connect,
      bodyFree,
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

/** Which errors of Node and undici mean what. Everything else is `internal`: a fault of ours to look at. */
const ERROR_CODES: Readonly<Record<string, AttemptErrorCode>> = {
  ADDRESS_BLOCKED: 'address_blocked',
  ENOTFOUND: 'dns_error',
  EAI_AGAIN: 'dns_error',
  EAI_FAIL: 'dns_error',
  ENODATA: 'dns_error',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  UND_ERR_DESTROYED: 'connection_reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection_reset',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
  EADDRNOTAVAIL: 'host_unreachable',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'response_too_large',
  EPROTO: 'tls_error',
}

/** The attempt error that an error of Node or undici means. */
export function errorCodeOf(error: unknown): AttemptErrorCode {
  if (!(error instanceof Error)) return 'internal'
  // With several addresses Node reports one error a try; the first is as good as any.
  if (error instanceof AggregateError) return errorCodeOf(error.errors[0])
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const known = ERROR_CODES[code]
  if (known !== undefined) return known
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/.test(code)) {
    return 'tls_error'
  }
  // What is no HTTP at all comes without a code.
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') return 'connection_reset'
  return error.cause === undefined ? 'internal' : errorCodeOf(error.cause)
}
