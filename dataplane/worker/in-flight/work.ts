import type { Hold } from '../../../core/db/deliveries/work/partition-owners.ts'
import type { ClaimedDelivery } from '../../../core/db/deliveries/work/read-claimed.ts'
import type { Parked } from '../../../core/db/deliveries/work/waiting.ts'
import type { AttemptTrigger } from '../../../core/delivery/states.ts'
import { throttleToWrite, type Throttled } from '../../../core/delivery/throttled.ts'
import type { DeliveryMessage } from '../../../core/jetstream/delivery-message.ts'
import type { Allowance } from './allowances.ts'
import type { Share } from './byte-budget.ts'
import type { MessageAck } from './message-ack.ts'

/** A delivery in flight in this worker, from any origin, until `InFlight` ends it. */
export interface Work {
  retentionClass: number
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
  attemptTrigger: AttemptTrigger
  /** Attempts that counted, and all attempts, made before this one. */
  attemptCount: number
  attemptNumber: number
  maxAttempts: number
  throttled: Throttled | null
  firstAttemptAtMs: number | null
  /** Its event was delivered before. */
  isReplay: boolean
  /** The state it returns to if its manual attempt fails; null if the retry policy decides. */
  resumes: ClaimedDelivery['resumes']
  /** The lease under which this worker has it. */
  leaseUntilMs: number
  /** It has a row in delivery_waiting, or may have one. */
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
  place: Place
  /** When it entered its lane, on the monotonic clock. */
  queuedAt: number
  /** When its row was asked for, or its message came, on the same clock. */
  askedAt: number
}

/**
 * How far a delivery has come in this worker:
 *   lane         it is in its lane, or on its way there;
 *   sending      its attempt has begun, or its result is being written;
 *   handed_over  its partition went to another worker during the attempt: the claim on its waiting row keeps it here;
 *   parking      its row is being written to wait in PostgreSQL, where it may be claimed again before this worker knows
 *                that the row got there.
 */
type Place = 'lane' | 'sending' | 'handed_over' | 'parking'

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
    retentionClass: event.class,
    deliveryId: delivery.id,
    eventId: event.id,
    sourceId: event.sourceId,
    connectionId: delivery.connectionId,
    organisationId: event.organisationId,
    projectId: event.projectId,
    destinationId: delivery.destinationId,
    partition: lease.hold.partition,
    hold: lease.hold,
    attemptTrigger: 'initial',
    attemptCount: 0,
    attemptNumber: 0,
    maxAttempts: delivery.maxAttempts,
    throttled: null,
    firstAttemptAtMs: null,
    isReplay: false,
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
    place: 'lane',
    queuedAt: performance.now(),
    askedAt: performance.now(),
  }
}

export function workOfClaim(
  { throttledAtMs, ...claimed }: ClaimedDelivery,
  { hold, leaseUntilMs, askedAt }: Pick<Work, 'hold' | 'leaseUntilMs' | 'askedAt'>,
  room: Share,
): Work {
  return {
    ...claimed,
    hold,
    leaseUntilMs,
    throttled: throttledAtMs === null ? null : { atMs: throttledAtMs, isStored: true },
    isWaiting: true,
    largeBodyRoom: [],
    room,
    allowance: null,
    message: null,
    place: 'lane',
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
  work.place = 'parking'
  return {
    retentionClass: work.retentionClass,
    deliveryId: work.deliveryId,
    organisationId: work.organisationId,
    projectId: work.projectId,
    destinationId: work.destinationId,
    partition,
    hold: work.hold,
    attemptTrigger: work.attemptTrigger,
    status,
    throttledAtMs: throttleToWrite(work, status === 'throttled' ? nowMs : null),
    lastError,
  }
}
