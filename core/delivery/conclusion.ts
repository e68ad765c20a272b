import { retryAfterMs } from './retry-after.ts'
import { planRetry, type RetryPlan, type RetryPolicy } from './retry.ts'
import { isByHand, type AttemptOutcome, type AttemptTrigger } from './states.ts'
import { throttleToWrite, type Throttled } from './throttled.ts'
import type { AttemptResponse } from './transport.ts'

/** Wait after a busy answer from a former URL or `auth` of the destination. */
const SOON_MS = 1_000

/** A delivery before an attempt, as far as it decides what follows. */
export interface BeforeAttempt {
  attemptTrigger: AttemptTrigger
  /** Attempts that counted, and all attempts, made before this one. */
  attemptCount: number
  attemptNumber: number
  firstAttemptAtMs: number | null
  throttled: Throttled | null
  /** The state it returns to if its manual attempt fails; null if the retry policy decides. */
  resumes: { status: 'succeeded' | 'failed' | 'cancelled' | 'pending'; atMs: number | null } | null
}

/** The end of an attempt. */
export interface AttemptEnd {
  response: AttemptResponse & {
    /** The token endpoint answered, and not the destination. */
    tokenUrl?: string
  }
  policy: RetryPolicy
  /** False once the destination has another URL or `auth`: a busy answer of the former one says little. */
  isCurrent: boolean
  startedAtMs: number
  nowMs: number
  /** From 0 to below 1. */
  random: number
}

/** The destination asks to be left alone until then, with that status. */
export interface BusyAnswer {
  untilMs: number
  responseStatus: number
}

/** The state of a delivery after an attempt. `nextAtMs` is null when the delivery has ended. */
export interface Conclusion {
  outcome: AttemptOutcome
  status: 'succeeded' | 'failed' | 'cancelled' | 'pending' | 'throttled'
  /** Attempts that count against the retry policy, this one included if it does. */
  attemptCount: number
  /** How many the retry policy allows now; null when this one is none of them. */
  maxAttempts: number | null
  throttledReason: 'destination_busy' | null
  /** Set when it was not throttled before. */
  throttledAtMs: number | null
  nextAtMs: number | null
  /** The delivery is again as it was, and ended then: no outcome of this attempt. Null when this attempt ends it now. */
  completedAtMs: number | null
  busy: BusyAnswer | null
  /** The destination says that it is gone for good. */
  isGone: boolean
}

/** The state of a delivery after each plan, and the outcome of its attempt. */
const AFTER = {
  done: { outcome: 'succeeded', status: 'succeeded' },
  retry: { outcome: 'failed', status: 'pending' },
  busy: { outcome: 'busy', status: 'throttled' },
  failed: { outcome: 'failed', status: 'failed' },
  gone: { outcome: 'failed', status: 'failed' },
} as const satisfies Record<string, Pick<Conclusion, 'outcome' | 'status'>>

/**
 * Decides what follows an attempt, from its response, the retry policy and the state of the delivery before. A failed manual
 * attempt leaves its delivery as it was: ended, or waiting for its own time. A waiting delivery whose endpoint answers 410
 * ends, like every other. (decisions: Delivery, "A manual attempt")
 */
export function conclude(delivery: BeforeAttempt, end: AttemptEnd): Conclusion {
  const { attemptCount, resumes } = delivery
  const byHand = isByHand(delivery)
  const resumed = resumes === null ? null : stateOf(resumes)
  const plan = planAfter(delivery, end)
  const isBusy = plan.kind === 'busy'
  const { status: responseStatus } = end.response
  const ends = plan.kind === 'done' || (plan.kind === 'gone' && resumes?.status === 'pending')
  const planned = {
    status: AFTER[plan.kind].status,
    nextAtMs: 'atMs' in plan ? plan.atMs : null,
    completedAtMs: null,
  }
  const isThrottled = isBusy && resumed === null
  return {
    outcome: AFTER[plan.kind].outcome,
    attemptCount: attemptCount + (isBusy || byHand ? 0 : 1),
    maxAttempts: byHand ? null : end.policy.maxAttempts,
    throttledReason: isThrottled ? 'destination_busy' : null,
    throttledAtMs: throttleToWrite(delivery, isThrottled ? end.startedAtMs : null),
    ...(ends || resumed === null ? planned : resumed),
    busy: isBusy && responseStatus !== null ? { untilMs: plan.atMs, responseStatus } : null,
    isGone: plan.kind === 'gone',
  }
}

type State = Pick<Conclusion, 'status' | 'nextAtMs' | 'completedAtMs'>

function stateOf({ status, atMs }: NonNullable<BeforeAttempt['resumes']>): State {
  const isWaiting = status === 'pending'
  return {
    status,
    nextAtMs: isWaiting ? atMs : null,
    completedAtMs: isWaiting ? null : atMs,
  }
}

function planAfter(delivery: BeforeAttempt, end: AttemptEnd): RetryPlan | { kind: 'done' } {
  const { response, policy, isCurrent, nowMs, random } = end
  if (response.error === null) return { kind: 'done' }
  const retryAfter = response.headers.find(([name]) => name === 'retry-after')?.[1]
  // How long one that is attempted by hand has been waited for says nothing about this attempt.
  const isAlone = delivery.resumes !== null
  const plan = planRetry({
    policy,
    errorCode: response.error,
    responseStatus: response.status,
    isTokenEndpoint: response.tokenUrl !== undefined,
    askedMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, nowMs),
    attemptCount: delivery.attemptCount + (isByHand(delivery) ? 0 : 1),
    attemptNumber: isAlone ? 1 : delivery.attemptNumber + 1,
    firstAttemptAtMs: isAlone ? nowMs : (delivery.firstAttemptAtMs ?? nowMs),
    nowMs,
    random,
  })
  return plan.kind === 'busy' && !isCurrent ? { kind: 'busy', atMs: nowMs + SOON_MS } : plan
}
