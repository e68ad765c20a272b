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

/** Somebody asked for this attempt: it is outside the budget, and no busy destination is spared it. (decisions: Delivery) */
export function isByHand({ attemptTrigger }: { attemptTrigger: AttemptTrigger }): boolean {
  return attemptTrigger === 'manual' || attemptTrigger === 'bulk'
}

export const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'busy'] as const

export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]
