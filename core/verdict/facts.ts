/** The records of an event and its deliveries from which it is explained. Times are milliseconds since the epoch. */
export interface ExplainedEvent {
  nowMs: number
  status: string
  rejectionReason: string | null
  /** The fault of the verifier. */
  rejectionDetail: string | null
  verifiedWith: string
  /** Undefined when the source was deleted. */
  sourceName: string | undefined
  createdAtMs: number
  /** The method of its request. */
  method: string
  hasBody: boolean
  hasQuery: boolean
  /** Connections that got no delivery. */
  excluded: readonly ExcludedConnection[]
  /** The newest delivery of each connection: a successful replay settles the failure before it. */
  deliveries: readonly ExplainedDelivery[]
  /** There are older deliveries than these, which were not looked at. */
  hasOlder: boolean
}

interface ExcludedConnection {
  /** Undefined when the connection was deleted. */
  name: string | undefined
  outcome: 'filtered' | 'disabled'
  /** The part of the filter that excluded the event. */
  failedPart: string | undefined
}

export interface ExplainedDelivery {
  /** Undefined when the connection was deleted. */
  connectionName: string | undefined
  status: string
  createdAtMs: number
  /** Attempts that count against the retry policy, and how many of these it allows. */
  attemptCount: number
  maxAttempts: number
  nextAttemptAtMs: number | null
  /** It queues behind its destination's other deliveries. */
  isParked: boolean
  /** Somebody asked for the attempt that it waits for. */
  isByHand: boolean
  throttledReason: string | null
  throttledAtMs: number | null
  /** Why it waits, failed or was cancelled; an attempt's error code, or one of the product. */
  lastError: string | null
  lastAttempt: {
    atMs: number
    /** Where it was sent; undefined when that is not kept. */
    host: string | undefined
    responseStatus: number | null
    /** Null when it succeeded. */
    errorCode: string | null
    durationMs: number | null
  } | null
  completedAtMs: number | null
  /** Undefined when the destination was deleted. */
  destination: ExplainedDestination | undefined
}

interface ExplainedDestination {
  name: string
  method: string
  isEnabled: boolean
  disabledReason: string | null
  rateLimit: number | null
  rateLimitPeriod: string
  /** How many requests it gets at once. */
  concurrency: number
  /** Deliveries of it that show as in flight. */
  underWay: number
  /** It answered that it is busy, and has not been found ready since. */
  busy: { sinceMs: number; untilMs: number; responseStatus: number } | null
}

/** A delivery whose destination and connection exist. */
export type Routed = ExplainedDelivery & {
  connectionName: string
  destination: ExplainedDestination
}

export const CAUSES = [
  'rejected',
  'unmatched',
  'filtered',
  'connection_disabled',
  'retrying',
  'connector_offline',
  'rate_limited',
  'destination_busy',
  'destination_saturated',
  'failed',
  'address_refused',
  'destination_disabled',
  'cancelled',
  'delivered',
] as const

export type Cause = (typeof CAUSES)[number]

/** Actions that a person can take. */
export const ACTIONS = [
  'test_signature',
  'create_connection',
  'test_filter',
  'enable_connection',
  'retry',
  'show_connector',
  'raise_rate_limit',
  'change_address',
  'enable_destination',
  'replay',
] as const

export interface Verdict {
  cause: Cause
  sentence: string
  /** Since when it is so. */
  sinceMs: number
  /** When the next attempt is due; null when none is, or when its time is not known. */
  nextAtMs: number | null
  action: (typeof ACTIONS)[number] | null
}
