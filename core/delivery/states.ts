/** (spec: Delivery) */
export const DELIVERY_STATUSES = [
  'pending',
  'throttled',
  'in_flight',
  'succeeded',
  'failed',
  'cancelled',
] as const

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Why a delivery was created. */
export const DELIVERY_TRIGGERS = ['ingest', 'replay', 'test'] as const

export const THROTTLED_REASONS = ['rate_limit', 'destination_busy'] as const

/** Who asked for an attempt. */
export const ATTEMPT_TRIGGERS = ['initial', 'automatic', 'manual', 'bulk'] as const

export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number]

export const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'busy'] as const

export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]
