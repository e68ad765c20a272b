import type { Hold } from '../../../core/db/deliveries/work/partition-owners.ts'
import type { ClaimedDelivery } from '../../../core/db/deliveries/work/read-claimed.ts'
import type { Parked } from '../../../core/db/deliveries/work/waiting.ts'
import type { DeliveryMessage } from '../../../core/jetstream/delivery-message.ts'
import type { Allowance } from './allowances.ts'
import type { Share } from './byte-budget.ts'
import type { MessageAck } from './message-ack.ts'

/** A delivery in flight in this worker, from any origin, until `InFlight` ends it. */
export interface Work {
  class: number
  deliveryId: string
  eventId: string | null
  sourceId: string | null
  connectionId: string | null
  organisationId: string
  projectId: string
  destinationId: string
  /** Where it waits when it waits. */
  partition: number
  /** Under which it was taken. */
  hold: Hold
  /** Its partition was handed over during the attempt: the claim on its waiting row keeps it. */
  isHandedOver: boolean
  attemptTrigger: 'initial' | 'automatic' | 'manual' | 'bulk'
  /** Attempts that counted, and all attempts, made before this one. */
  attemptCount: number
  attemptNumber: number
  maxAttempts: number
  throttledAtMs: number | null
  /** PostgreSQL has `throttledAtMs`: it was throttled before this worker claimed it. */
  isThrottleKept: boolean
  firstAttemptAtMs: number | null
  /** The state it returns to if its manual attempt fails; null if the retry policy decides. */
  resumes: ClaimedDelivery['resumes']
  /** The lease under which this worker has it. */
  leaseUntilMs: number
  /** It has a row in delivery_waiting. */
  isWaiting: boolean
  /** Its connection is gone: it is cancelled instead of sent. */
  isOrphan: boolean
  event: {
    /** As they are stored. */
    headers: string
    verifiedWith: string
    remoteIp: string
    sourceName: string
  }
  /** Null while it is in PostgreSQL alone: a large one is read when its turn comes. */
  body: Buffer | null
  /** Taken for a body that was read, until it is not needed any more. */
  largeBodyRoom: readonly Share[]
  /** Its bytes in memory, without a large body. */
  bytes: number
  /** The same of what work may take; its answer is added. */
  room: Share
  /** The allowance of its lane, which counts it until it ends. */
  allowance: Allowance | null
  /** The message that it came with and has not answered; null when its row replaces the message. */
  message: MessageAck | null
  /** It is on its way to PostgreSQL, where it may be claimed again before this worker knows that it got there. */
  isParking: boolean
  /** When it entered its lane, on the monotonic clock. */
  queuedAt: number
  /** When its row was asked for, or its message came, on the same clock. */
  askedAt: number
}

/** Somebody asked for this attempt: it is outside the budget, and no busy destination is spared it. (decisions: Delivery) */
export function isByHand({ attemptTrigger }: Pick<Work, 'attemptTrigger'>): boolean {
  return attemptTrigger === 'manual' || attemptTrigger === 'bulk'
}

/** A delivery whose body is in memory, so that it can be sent. */
export type WholeWork = Work & { body: Buffer }

export function isWhole(work: Work): work is WholeWork {
  return work.body !== null
}

/** Leaves a body that was read to PostgreSQL. */
export function dropLargeBody(work: Work): void {
  if (work.largeBodyRoom.length === 0) return
  for (const share of work.largeBodyRoom) share.give()
  work.largeBodyRoom = []
  work.body = null
}

export function workOfMessage(
  { event, delivery, headers, body }: DeliveryMessage,
  lease: { untilMs: number; isOrphan: boolean; hold: Hold },
  origin: Pick<Work, 'bytes' | 'room' | 'message'>,
): Work {
  return {
    class: event.class,
    deliveryId: delivery.id,
    eventId: event.id,
    sourceId: event.sourceId,
    connectionId: delivery.connectionId,
    organisationId: event.organisationId,
    projectId: event.projectId,
    destinationId: delivery.destinationId,
    partition: lease.hold.partition,
    hold: lease.hold,
    isHandedOver: false,
    attemptTrigger: 'initial',
    attemptCount: 0,
    attemptNumber: 0,
    maxAttempts: delivery.maxAttempts,
    throttledAtMs: null,
    isThrottleKept: false,
    firstAttemptAtMs: null,
    resumes: null,
    leaseUntilMs: lease.untilMs,
    isWaiting: false,
    isOrphan: lease.isOrphan,
    event: {
      headers,
      verifiedWith: event.verifiedWith,
      remoteIp: event.remoteIp,
      sourceName: event.sourceName,
    },
    body: event.hasBody ? body : null,
    largeBodyRoom: [],
    bytes: origin.bytes,
    room: origin.room,
    allowance: null,
    message: origin.message,
    isParking: false,
    queuedAt: performance.now(),
    askedAt: performance.now(),
  }
}

export function workOfClaim(
  claimed: ClaimedDelivery,
  { hold, leaseUntilMs, askedAt }: Pick<Work, 'hold' | 'leaseUntilMs' | 'askedAt'>,
  room: Share,
): Work {
  return {
    ...claimed,
    hold,
    isHandedOver: false,
    leaseUntilMs,
    isThrottleKept: claimed.throttledAtMs !== null,
    isWaiting: true,
    largeBodyRoom: [],
    room,
    allowance: null,
    message: null,
    isParking: false,
    queuedAt: performance.now(),
    askedAt,
  }
}

/** The row of a work that goes to wait in a partition; it is on its way there from now on. */
export function parkedOf(
  work: Work,
  partition: number,
  { status, lastError, nowMs }: Pick<Parked, 'status' | 'lastError'> & { nowMs: number },
): Parked {
  work.isParking = true
  const throttledAtMs = work.throttledAtMs ?? (status === 'throttled' ? nowMs : null)
  return {
    class: work.class,
    deliveryId: work.deliveryId,
    organisationId: work.organisationId,
    projectId: work.projectId,
    destinationId: work.destinationId,
    partition,
    hold: work.hold,
    attemptTrigger: work.attemptTrigger,
    status,
    throttledAtMs: work.isThrottleKept ? null : throttledAtMs,
    lastError,
  }
}
