import type { Cause, ExplainedDelivery, Routed, Verdict } from './facts.ts'
import { count, lastOf, moment, nameOf, span, words } from './phrases.ts'

type DeliveryCause = Exclude<Cause, 'rejected' | 'unmatched' | 'filtered' | 'connection_disabled'>

/** Causes in order of urgency: the cause that needs a person most comes first. */
export const URGENCY: readonly DeliveryCause[] = [
  'address_refused',
  'failed',
  'destination_disabled',
  'connector_offline',
  'destination_busy',
  'rate_limited',
  'destination_saturated',
  'retrying',
  'cancelled',
  'delivered',
]

const REFUSED_ADDRESSES: ReadonlySet<string> = new Set(['address_blocked', 'host_not_allowed'])

export function causeOf(delivery: ExplainedDelivery, nowMs: number): DeliveryCause {
  switch (delivery.status) {
    case 'succeeded':
      return 'delivered'
    case 'cancelled':
      return 'cancelled'
    case 'failed':
      return isRefused(delivery) ? 'address_refused' : 'failed'
    case 'in_flight':
      return 'retrying'
    default:
      return isRouted(delivery) ? causeOfWaiting(delivery, nowMs) : 'cancelled'
  }
}

function isRefused({ lastError }: ExplainedDelivery): boolean {
  return lastError !== null && REFUSED_ADDRESSES.has(lastError)
}

function isRouted(delivery: ExplainedDelivery): delivery is Routed {
  return delivery.destination !== undefined && delivery.connectionName !== undefined
}

function causeOfWaiting(delivery: Routed, nowMs: number): DeliveryCause {
  const { destination, lastError, nextAttemptAtMs, isParked } = delivery
  if (!destination.isEnabled) return 'destination_disabled'
  if (lastError === 'connector_offline' && delivery.status === 'pending') return 'connector_offline'
  if (lastError === 'connector_full' && delivery.status === 'pending')
    return 'destination_saturated'
  if (delivery.status === 'throttled') {
    return delivery.throttledReason === 'destination_busy' ? 'destination_busy' : 'rate_limited'
  }
  if (isBehindBusy(delivery)) return 'destination_busy'
  const isDue = nextAttemptAtMs === null || nextAttemptAtMs <= nowMs
  const isFull = destination.underWay >= destination.concurrency
  return isDue && (isParked || isFull) ? 'destination_saturated' : 'retrying'
}

/** Whether the delivery waits for a busy window; a manual retry does not. */
function isBehindBusy({ destination, nextAttemptAtMs, isByHand }: Routed): boolean {
  if (destination.busy === null || isByHand) return false
  return nextAttemptAtMs === null || nextAttemptAtMs < destination.busy.untilMs
}

export function speak(
  { delivery, cause }: { delivery: ExplainedDelivery; cause: DeliveryCause },
  nowMs: number,
): Verdict {
  return { cause, ...SPEAK[cause](delivery, nowMs) }
}

type Said = Omit<Verdict, 'cause'>

const SPEAK: Record<DeliveryCause, (delivery: ExplainedDelivery, nowMs: number) => Said> = {
  address_refused: (delivery) => ({
    sentence: refusedAddress(delivery),
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: delivery.destination === undefined ? null : 'change_address',
  }),
  failed: (delivery) => ({
    sentence: gaveUp(delivery),
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: delivery.lastError === 'expired' ? null : isRouted(delivery) ? 'retry' : 'replay',
  }),
  destination_disabled: (delivery) => ({
    sentence: `Waits for destination ${nameOf(delivery)}, which is disabled${disabledBecause(delivery)}. No attempt is spent.`,
    sinceMs: waitsSince(delivery),
    nextAtMs: null,
    action: 'enable_destination',
  }),
  connector_offline: (delivery) => ({
    sentence: `Waits for the connector of ${nameOf(delivery)}: none of its replicas is online. No attempt is spent.`,
    sinceMs: waitsSince(delivery),
    nextAtMs: null,
    action: 'show_connector',
  }),
  destination_busy: (delivery, nowMs) =>
    delivery.status === 'throttled' ? answeredBusy(delivery) : behindBusy(delivery, nowMs),
  rate_limited: (delivery) => ({
    sentence: `Held by pacing (${paceOf(delivery)}) for ${nameOf(delivery)}. No attempt is spent.`,
    sinceMs: delivery.throttledAtMs ?? delivery.createdAtMs,
    nextAtMs: delivery.nextAttemptAtMs,
    action: 'raise_rate_limit',
  }),
  destination_saturated: (delivery) => ({
    ...(delivery.lastError === 'connector_full' ? behindReplicas(delivery) : inLine(delivery)),
    sinceMs: waitsSince(delivery),
    nextAtMs: null,
  }),
  retrying: (delivery, nowMs) => ({
    sentence: progressOf(delivery, nowMs),
    sinceMs: waitsSince(delivery),
    nextAtMs: delivery.nextAttemptAtMs,
    action: mayBeRetried(delivery) ? 'retry' : null,
  }),
  cancelled: (delivery) => ({
    sentence: cancelled(delivery),
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: 'replay',
  }),
  delivered: (delivery) => ({
    sentence: `Delivered to ${nameOf(delivery)}.`,
    sinceMs: endOf(delivery),
    nextAtMs: null,
    action: null,
  }),
}

function refusedAddress(delivery: ExplainedDelivery): string {
  const { lastAttempt, lastError } = delivery
  const host = lastAttempt?.host === undefined ? '' : ` (${lastAttempt.host})`
  return lastError === 'host_not_allowed'
    ? `The connector of ${nameOf(delivery)} does not allow its address${host}.`
    : `Postern refused the address of ${nameOf(delivery)}${host}: it is private or reserved.`
}

function gaveUp(delivery: ExplainedDelivery): string {
  const { attemptCount, lastError, createdAtMs } = delivery
  const name = nameOf(delivery)
  const after = span(endOf(delivery) - createdAtMs)
  if (lastError === 'expired') {
    return `Expired: it waited for ${name} for ${after}, and its event is past retention.`
  }
  // None of the policy's own was made when the first was asked for and told that the endpoint is gone.
  return attemptCount === 0
    ? `Gave up on ${name}; the last attempt: ${lastOf(delivery)}.`
    : `Gave up on ${name} after ${count(attemptCount, 'attempt')} over ${after}; the last: ${lastOf(delivery)}.`
}

function inLine(delivery: ExplainedDelivery): Pick<Said, 'sentence' | 'action'> {
  const atOnce = count(delivery.destination?.concurrency ?? 1, 'request')
  return {
    sentence: `Waits in line for ${nameOf(delivery)}, which gets at most ${atOnce} at once. No attempt is spent.`,
    action: null,
  }
}

function behindReplicas(delivery: ExplainedDelivery): Pick<Said, 'sentence' | 'action'> {
  return {
    sentence: `Waits for the connector of ${nameOf(delivery)}: its replicas have as many requests as they take at once. No attempt is spent.`,
    action: 'show_connector',
  }
}

function answeredBusy(delivery: ExplainedDelivery): Said {
  const { lastAttempt, nextAttemptAtMs } = delivery
  const again = nextAttemptAtMs === null ? 'later' : `at ${moment(nextAttemptAtMs)}`
  return {
    sentence: `${nameOf(delivery)} answered ${lastAttempt?.responseStatus ?? 'that it is busy'}; it is asked again ${again}.`,
    sinceMs: delivery.throttledAtMs ?? delivery.createdAtMs,
    nextAtMs: nextAttemptAtMs,
    action: null,
  }
}

function behindBusy(delivery: ExplainedDelivery, nowMs: number): Said {
  const { destination, createdAtMs } = delivery
  const { sinceMs, untilMs, responseStatus } = destination?.busy ?? {
    sinceMs: createdAtMs,
    untilMs: nowMs,
    responseStatus: null,
  }
  const isOver = untilMs <= nowMs
  const until = isOver
    ? 'and is asked one request at a time until one succeeds'
    : `and is left alone until ${moment(untilMs)}`
  return {
    sentence: `Waits behind ${nameOf(delivery)}, which answered ${responseStatus ?? 'that it is busy'} ${until}. No attempt is spent.`,
    sinceMs: Math.max(sinceMs, createdAtMs),
    nextAtMs: isOver ? delivery.nextAttemptAtMs : untilMs,
    action: null,
  }
}

function progressOf(delivery: ExplainedDelivery, nowMs: number): string {
  const { attemptCount, maxAttempts, lastAttempt, isByHand, nextAttemptAtMs } = delivery
  const isUnderWay = delivery.status === 'in_flight'
  const name = nameOf(delivery)
  if (isByHand) {
    return `The attempt to reach ${name} that was asked for is ${isUnderWay ? 'under way' : 'due'}.`
  }
  if (lastAttempt === null) {
    return `The first attempt to reach ${name} is ${isUnderWay ? 'under way' : 'due'}.`
  }
  const attempts = attemptCount === 0 ? 'The last attempt' : count(attemptCount, 'attempt')
  const left = Math.max(0, maxAttempts - attemptCount)
  const failed = `${attempts} to reach ${name} failed (${lastOf(delivery)}).`
  if (isUnderWay) return `${failed} Another is under way, ${Math.max(0, left - 1)} left after it.`
  const isScheduled = nextAttemptAtMs !== null && nextAttemptAtMs > nowMs
  return `${failed} The next is ${isScheduled ? 'waiting' : 'due'}, ${left} left.`
}

function mayBeRetried({ status, lastAttempt, isByHand }: ExplainedDelivery): boolean {
  return status === 'pending' && lastAttempt !== null && !isByHand
}

/** The record names a resource deleted before the cancellation; one deleted now may still have existed then. */
function cancelled(delivery: ExplainedDelivery): string {
  const { connectionName, destination, lastError, status } = delivery
  const done = status === 'cancelled' ? 'Cancelled' : 'Is being cancelled'
  const from = connectionName === undefined ? done : `${done} for connection ${connectionName}`
  if (lastError === 'destination_deleted' || lastError === 'connection_deleted') {
    return `${from}: its ${words(lastError).replace(' ', ' was ')}.`
  }
  if (destination === undefined) return `${from}; its destination is deleted now.`
  return connectionName === undefined ? `${from}; its connection is deleted now.` : `${from}.`
}

function endOf(delivery: ExplainedDelivery): number {
  return delivery.completedAtMs ?? waitsSince(delivery)
}

function waitsSince({ lastAttempt, createdAtMs }: ExplainedDelivery): number {
  return lastAttempt?.atMs ?? createdAtMs
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
