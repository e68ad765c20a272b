import type { AttemptErrorCode } from './attempt-error.ts'

/**
 * Sends one request under one deadline. Never throws: every failure is an `error` of the response. A 2xx is a success
 * once its headers are read.
 */
export type Transport = (request: AttemptRequest) => Promise<AttemptResponse>

/** A request, ready to be sent. */
export interface AttemptRequest {
  /** Whose connections it may use. */
  holder: string
  /** Whose share of name look-ups it takes. */
  tenant: string
  origin: string
  path: string
  method: 'POST' | 'PUT' | 'PATCH'
  /** Flat: name, value, name, value. */
  headers: string[]
  /** A stream whose length no `content-length` names is sent in chunks. */
  body: Buffer | AsyncIterable<Uint8Array>
  timeoutMs: number
  /** Ends the request at once: nobody waits for its response. */
  signal?: AbortSignal
  /** How much of the answer's body is kept, when not the first 16 KiB. */
  keptBytes?: number
}

/** The answer or the error of a request. Durations are milliseconds; a phase is null when it was not reached. */
export interface AttemptResponse {
  status: number | null
  /** Name and value pairs, as received. */
  headers: [string, string][]
  /** The first bytes. */
  body: Buffer | null
  error: AttemptErrorCode | null
  /** The error of a connection, or of this process, behind `error`. */
  fault?: unknown
  durationMs: number
  firstByteMs: number | null
  connect: ConnectPhases | null
  /** The replica of a connector that had the request, if that is known. */
  replicaId?: string | null
  /** Surely nothing was sent: the delivery waits for its connector, and this was no attempt. */
  held?: Held
}

/** The connector has no session, or no room; or nobody took the request on its way, as when an agent goes away. */
export type Held = 'offline' | 'full' | 'refused'

/** Times of opening a connection, in milliseconds; zero where a step did not happen. */
export interface ConnectPhases {
  dnsMs: number
  connectMs: number
  tlsMs: number
}

/** The response to a request that was not sent. */
export function unsent(error: AttemptErrorCode, fault?: unknown): AttemptResponse {
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
