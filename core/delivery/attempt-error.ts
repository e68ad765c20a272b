/** Why an attempt failed. The only list of these codes. (decisions: Delivery; Connectors, replicas, tunnel) */
export const ATTEMPT_ERROR_CODES = [
  'bad_response',
  'timeout',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'tls_error',
  'host_unreachable',
  'address_blocked',
  'response_too_large',
  'connector_offline',
  'connector_timeout',
  'connector_lost',
  'host_not_allowed',
  'expired',
  'internal',
] as const

export type AttemptErrorCode = (typeof ATTEMPT_ERROR_CODES)[number]
