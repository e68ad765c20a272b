/** What is known of one delivery when its event is explained. Times are milliseconds since the epoch. */
export interface ExplainedDelivery {
  connectionName: string
  status: string
  createdAtMs: number
  attemptCount: number
  maxAttempts: number
  nextAttemptAtMs: number | null
  throttledReason: string | null
  throttledAtMs: number | null
  /** Why it waits or failed; an attempt's error code, or `destination_disabled`. */
  lastError: string | null
  lastAttempt: {
    atMs: number
    responseStatus: number | null
    errorCode: string | null
    durationMs: number | null
  } | null
  completedAtMs: number | null
  /** Undefined when the destination was deleted. */
  destination: ExplainedDestination | undefined
}

interface ExplainedDestination {
  name: string
  host: string
  isEnabled: boolean
  disabledReason: string | null
  rateLimit: number | null
  rateLimitPeriod: string
}

interface ExplainedConnection {
  name: string
  outcome: 'delivered_to' | 'filtered' | 'disabled'
  /** The part of the filter that excluded the event. */
  failedPart: string | undefined
}

export interface ExplainedEvent {
  status: string
  rejectionReason: string | null
  /** What was wrong with the verifier. */
  rejectionDetail: string | null
  verifiedWith: string
  sourceName: string
  createdAtMs: number
  connections: readonly ExplainedConnection[]
  /** Of each connection the newest: a replay that arrived settles the failure before it. */
  deliveries: readonly ExplainedDelivery[]
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
  'failed',
  'address_refused',
  'destination_disabled',
  'cancelled',
  'delivered',
] as const

type Cause = (typeof CAUSES)[number]

/** What a person can do about it. */
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

/**
 * Why an event was or was not delivered, in words. Every surface shows this verdict and no other. Of several
 * deliveries the one that needs a person most speaks. (decisions: Statistics and stream, "verdict")
 */
export function explain(event: ExplainedEvent): Verdict {
  if (event.status === 'rejected') return rejected(event)
  const [worst] = event.deliveries
    .map((delivery) => ({ delivery, cause: causeOf(delivery) }))
    .toSorted((a, b) => URGENCY.indexOf(a.cause) - URGENCY.indexOf(b.cause))
  if (worst === undefined) return undelivered(event)
  return worst.cause === 'delivered' ? delivered(event) : SPEAK[worst.cause](worst.delivery)
}

type DeliveryCause = Exclude<Cause, 'rejected' | 'unmatched' | 'filtered' | 'connection_disabled'>

const URGENCY: readonly DeliveryCause[] = [
  'address_refused',
  'failed',
  'destination_disabled',
  'connector_offline',
  'destination_busy',
  'rate_limited',
  'retrying',
  'cancelled',
  'delivered',
]

const REFUSED_ADDRESSES: ReadonlySet<string> = new Set(['address_blocked', 'host_not_allowed'])

function causeOf(delivery: ExplainedDelivery): DeliveryCause {
  const { status, throttledReason, lastError, lastAttempt, destination } = delivery
  switch (status) {
    case 'succeeded':
      return 'delivered'
    case 'cancelled':
      return 'cancelled'
    case 'throttled':
      return throttledReason === 'destination_busy' ? 'destination_busy' : 'rate_limited'
    case 'failed':
      return REFUSED_ADDRESSES.has(lastAttempt?.errorCode ?? '') ? 'address_refused' : 'failed'
    default:
      if (destination?.isEnabled === false) return 'destination_disabled'
      return lastError === 'connector_offline' ? 'connector_offline' : 'retrying'
  }
}

function rejected(event: ExplainedEvent): Verdict {
  const reason = words(event.rejectionReason ?? 'signature_mismatch')
  const detail = event.rejectionDetail === null ? '' : `, ${event.rejectionDetail}`
  return {
    cause: 'rejected',
    sentence: `Not accepted: ${reason}${detail} (verifier ${event.verifiedWith}). The sender got 401.`,
    sinceMs: event.createdAtMs,
    nextAtMs: null,
    action: 'test_signature',
  }
}

function undelivered(event: ExplainedEvent): Verdict {
  const since = { sinceMs: event.createdAtMs, nextAtMs: null }
  const filtered = event.connections.filter(({ outcome }) => outcome === 'filtered')
  const disabled = event.connections.find(({ outcome }) => outcome === 'disabled')
  if (event.status === 'filtered' || filtered.length > 0) {
    const parts = filtered.map(({ name, failedPart }) =>
      failedPart === undefined ? name : `${name} because of ${failedPart}`,
    )
    const which = parts.length === 0 ? '' : `: ${parts.join(', ')}`
    return {
      cause: 'filtered',
      sentence: `Accepted; the filter of ${count(filtered.length, 'connection')} excluded it${which}.`,
      ...since,
      action: 'test_filter',
    }
  }
  if (disabled !== undefined) {
    return {
      cause: 'connection_disabled',
      sentence: `Accepted, but connection ${disabled.name} is switched off.`,
      ...since,
      action: 'enable_connection',
    }
  }
  return {
    cause: 'unmatched',
    sentence: `Accepted, but no connection is active on source ${event.sourceName}.`,
    ...since,
    action: 'create_connection',
  }
}

function delivered(event: ExplainedEvent): Verdict {
  const { deliveries } = event
  const last = deliveries.reduce((a, b) =>
    (b.completedAtMs ?? 0) > (a.completedAtMs ?? 0) ? b : a,
  )
  const took = last.lastAttempt?.durationMs
  const speed = took === null || took === undefined ? '' : `, the last in ${Math.round(took)} ms`
  return {
    cause: 'delivered',
    sentence: `Delivered to ${deliveries.length} of ${count(deliveries.length, 'connection')}${speed}.`,
    sinceMs: last.completedAtMs ?? last.createdAtMs,
    nextAtMs: null,
    action: null,
  }
}

const SPEAK: Record<
  Exclude<DeliveryCause, 'delivered'>,
  (delivery: ExplainedDelivery) => Verdict
> = {
  address_refused: (delivery) => ({
    cause: 'address_refused',
    sentence: `Postern refused the address of ${nameOf(delivery)} (${delivery.destination?.host ?? 'unknown'}): it is private or reserved.`,
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: 'change_address',
  }),
  failed: (delivery) => ({
    cause: 'failed',
    sentence: `Gave up on ${nameOf(delivery)} after ${count(delivery.attemptCount, 'attempt')} over ${span(endOf(delivery) - delivery.createdAtMs)}; the last: ${lastOf(delivery)}.`,
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: 'retry',
  }),
  destination_disabled: (delivery) => ({
    cause: 'destination_disabled',
    sentence: `Waits for destination ${nameOf(delivery)}, which is disabled${disabledBecause(delivery)}. No attempt is spent.`,
    sinceMs: delivery.lastAttempt?.atMs ?? delivery.createdAtMs,
    nextAtMs: null,
    action: 'enable_destination',
  }),
  connector_offline: (delivery) => ({
    cause: 'connector_offline',
    sentence: `Waits for the connector of ${nameOf(delivery)}: none of its replicas is online. No attempt is spent.`,
    sinceMs: delivery.lastAttempt?.atMs ?? delivery.createdAtMs,
    nextAtMs: null,
    action: 'show_connector',
  }),
  destination_busy: (delivery) => ({
    cause: 'destination_busy',
    sentence: `${nameOf(delivery)} answered ${delivery.lastAttempt?.responseStatus ?? 'that it is busy'}; it is asked again later.`,
    sinceMs: delivery.throttledAtMs ?? delivery.createdAtMs,
    nextAtMs: delivery.nextAttemptAtMs,
    action: null,
  }),
  rate_limited: (delivery) => ({
    cause: 'rate_limited',
    sentence: `Held by pacing (${paceOf(delivery)}) for ${nameOf(delivery)}. No attempt is spent.`,
    sinceMs: delivery.throttledAtMs ?? delivery.createdAtMs,
    nextAtMs: delivery.nextAttemptAtMs,
    action: 'raise_rate_limit',
  }),
  retrying: (delivery) => ({
    cause: 'retrying',
    sentence: progressOf(delivery),
    sinceMs: delivery.lastAttempt?.atMs ?? delivery.createdAtMs,
    nextAtMs: delivery.nextAttemptAtMs,
    action: delivery.lastAttempt === null ? null : 'retry',
  }),
  cancelled: (delivery) => ({
    cause: 'cancelled',
    sentence:
      delivery.destination === undefined
        ? `Cancelled for connection ${delivery.connectionName}: its destination was deleted.`
        : `Cancelled for connection ${delivery.connectionName}.`,
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: 'replay',
  }),
}

function progressOf(delivery: ExplainedDelivery): string {
  const { attemptCount, maxAttempts, lastAttempt, status } = delivery
  if (lastAttempt === null) return `The first attempt to reach ${nameOf(delivery)} is under way.`
  const left = Math.max(0, maxAttempts - attemptCount)
  const next = status === 'in_flight' ? 'Another is under way' : 'The next is waiting'
  return `${count(attemptCount, 'attempt')} to reach ${nameOf(delivery)} failed (${lastOf(delivery)}). ${next}, ${left} left.`
}

function nameOf(delivery: ExplainedDelivery): string {
  return delivery.destination?.name ?? 'a deleted destination'
}

function endOf(delivery: ExplainedDelivery): number {
  return delivery.completedAtMs ?? delivery.lastAttempt?.atMs ?? delivery.createdAtMs
}

function lastOf({ lastAttempt, lastError }: ExplainedDelivery): string {
  if (lastAttempt === null) return words(lastError ?? 'no attempt')
  const what = lastAttempt.responseStatus ?? words(lastAttempt.errorCode ?? 'no answer')
  const took = lastAttempt.durationMs
  return took === null ? String(what) : `${what} in ${Math.round(took)} ms`
}

function disabledBecause({ destination }: ExplainedDelivery): string {
  if (destination?.disabledReason === 'gone') return ' because it answered 410'
  if (destination?.disabledReason === 'failing') return ' because every attempt failed for 5 days'
  return ''
}

function paceOf({ destination }: ExplainedDelivery): string {
  if (destination === undefined || destination.rateLimit === null) return 'the plan’s rate'
  return `${destination.rateLimit} per ${destination.rateLimitPeriod}`
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

function words(code: string): string {
  return code.replaceAll('_', ' ')
}

function span(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${Math.round(ms / 3_600_000)} h`
}
