export const EVENT_STATUSES = ['received', 'filtered', 'unmatched', 'rejected'] as const
export const DELIVERY_STATUSES = [
  'pending',
  'throttled',
  'in_flight',
  'succeeded',
  'failed',
  'cancelled',
] as const
export const ERROR_CODES = [
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
export const RANGES = ['1h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]

/** Why a provider signed nobody in. */
export const SIGN_IN_PROBLEMS = [
  'cancelled',
  'expired',
  'unverified',
  'unknown',
  'seats',
  'busy',
  'away',
  'failed',
] as const
