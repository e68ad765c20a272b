import type { AttemptErrorCode } from '../attempt-error.ts'
import type { Stage } from './http-connections.ts'

/** Which errors of Node and undici mean what, whenever they come. */
const CODES: Readonly<Record<string, AttemptErrorCode>> = {
  ADDRESS_BLOCKED: 'address_blocked',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'response_too_large',
  EPROTO: 'tls_error',
  // This process or its machine has too little of something: an operator has to know.
  EMFILE: 'internal',
  ENFILE: 'internal',
  ENOBUFS: 'internal',
  ENOMEM: 'internal',
  UND_ERR_INVALID_ARG: 'internal',
}

/** Any other error that a connection brings was caused outside: by the stage it is known where. */
const OF_STAGE: Readonly<Record<Stage, AttemptErrorCode>> = {
  resolving: 'dns_error',
  connecting: 'host_unreachable',
  securing: 'tls_error',
  open: 'connection_reset',
}

/** The attempt error that an error of a connection means; `internal` only for a fault of ours. */
export function errorCodeOf(error: unknown, stage: Stage): AttemptErrorCode {
  if (!(error instanceof Error)) return 'internal'
  // With several addresses Node reports one error a try; the first is as good as any.
  if (error instanceof AggregateError) return errorCodeOf(error.errors[0], stage)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return CODES[code] ?? OF_STAGE[stage]
}
