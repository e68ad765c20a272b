import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import { planRetry, type RetryPlan } from '../../../core/delivery/retry.ts'
import type { Held } from '../../../core/delivery/transport.ts'
import { encodeId } from '../../../core/ids.ts'
import { LEASE_MS } from '../../../core/limits.ts'
import { roundMs, type Logger } from '../../../core/log.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import type { WorkerMetrics } from '../in-flight/metrics.ts'
import {
  dropLargeBody,
  isByHand,
  throttleToWrite,
  type WholeWork,
  type Work,
} from '../in-flight/work.ts'
import type { Results } from '../record/results.ts'
import type { Destination } from './destination.ts'
import { makeAttempt, type AttemptDeps, type Outcome, type TypeIds } from './make-attempt.ts'

/** An attempt that lasts this long shows as `in_flight`. (decisions: Delivery) */
const SHOWN_AFTER_MS = 1_000

/** Wait after a busy answer from a former URL or `auth` of the destination. */
const SOON_MS = 1_000

export interface DeliverDeps extends AttemptDeps {
  log: Logger
  /** Gets a line for each attempt. */
  attemptLog: Logger
  metrics: Pick<WorkerMetrics, 'noteAttempt' | 'throttled'>
  results: Results
  inFlight: InFlight
  /** The name that claimed rows carry. */
  workerName: string
  random: () => number
  /** The endpoint said that it is gone for good. */
  disable(destinationId: string): void
}

/** Where a delivery goes. */
export interface Target {
  destination: Destination
  /** False once the destination has become another. */
  isCurrent: () => boolean
}

/** The consequences of the endpoint's answer for its lane. */
export interface Answered {
  hasSucceeded: boolean
  /** It asks to be left alone until then, with that status. */
  busy: { untilMs: number; responseStatus: number } | null
  /** Nothing was sent, for want of its connector: the delivery is still to be made. */
  held?: Held
}

/**
 * Makes one attempt and hands its result on to be written. Never throws. Resolves when the endpoint has answered. A
 * destination that `isCurrent` no more when it answers busy is asked again soon, where it is now.
 */
export async function deliver(
  deps: DeliverDeps,
  work: WholeWork,
  { destination, isCurrent }: Target,
): Promise<Answered> {
  deps.inFlight.begin(work)
  let marked: Promise<void> | undefined
  const marking = setTimeout(() => {
    marked = markLong(deps, work, destination)
  }, SHOWN_AFTER_MS)
  const { made, typeIds, response, traced } = await makeAttempt(deps, work, destination)
  clearTimeout(marking)
  dropLargeBody(work)
  // A mark that is written after the result would leave behind a finished delivery that waits.
  await marked
  if (response.held !== undefined) return { hasSucceeded: false, busy: null, held: response.held }

  const plan = response.error === null ? undefined : planAfter(deps, work, destination, response)
  if (plan?.kind === 'busy' && !isCurrent()) plan.atMs = deps.clock.now() + SOON_MS
  const attempt = { ...made, outcome: outcomeOf(plan) }
  traced?.end(attempt)
  const result = resultOf(work, plan, {
    attempt,
    claimedBy: deps.workerName,
    policyMaxAttempts: destination.retryPolicy.maxAttempts,
  })
  void record(deps, work, { result, typeIds })
  if (plan?.kind === 'gone') deps.disable(destination.id)
  return {
    hasSucceeded: plan === undefined,
    busy:
      plan?.kind === 'busy' && response.status !== null
        ? { untilMs: plan.atMs, responseStatus: response.status }
        : null,
  }
}

async function record(
  deps: DeliverDeps,
  work: Work,
  { result, typeIds }: { result: DeliveryResult; typeIds: TypeIds },
): Promise<void> {
  const { attempt } = result
  deps.metrics.noteAttempt(attempt, work.deliveryId)
  if (result.throttledReason !== null && work.throttled === null) {
    deps.metrics.throttled[result.throttledReason]++
  }
  deps.attemptLog.info(
    {
      ...typeIds,
      destinationId: encodeId('dst', work.destinationId),
      attempt: attempt.number,
      trigger: attempt.trigger,
      outcome: attempt.outcome,
      responseStatus: attempt.responseStatus,
      errorCode: attempt.errorCode,
      durationMs: roundMs(attempt.durationMs),
      nextAtMs: result.nextAtMs,
    },
    'Attempted a delivery',
  )
  work.room.grow(answerBytes(attempt))
  const { isKept } = await deps.results.record(result)
  if (isKept) deps.inFlight.settle(work)
  else deps.inFlight.release(work)
}

function answerBytes({ responseBody, responseHeaders }: DeliveryResult['attempt']): number {
  return (responseBody?.length ?? 0) + (responseHeaders?.length ?? 0)
}

function planAfter(
  deps: DeliverDeps,
  work: Work,
  destination: Destination,
  response: Outcome,
): RetryPlan {
  const nowMs = deps.clock.now()
  // How long one that is attempted by hand has been waited for says nothing about this attempt.
  const isAlone = work.resumes !== null
  return planRetry({
    policy: destination.retryPolicy,
    errorCode: response.error ?? 'bad_response',
    responseStatus: response.status,
    isTokenEndpoint: response.tokenUrl !== undefined,
    retryAfter: response.headers.find(([name]) => name === 'retry-after')?.[1] ?? null,
    attemptCount: work.attemptCount + (isByHand(work) ? 0 : 1),
    attemptNumber: isAlone ? 1 : work.attemptNumber + 1,
    firstAttemptAtMs: isAlone ? nowMs : (work.firstAttemptAtMs ?? nowMs),
    nowMs,
    random: deps.random(),
  })
}

function outcomeOf(plan: RetryPlan | undefined): DeliveryResult['attempt']['outcome'] {
  if (plan === undefined) return 'succeeded'
  return plan.kind === 'busy' ? 'busy' : 'failed'
}

function resultOf(
  work: Work,
  plan: RetryPlan | undefined,
  {
    attempt,
    claimedBy,
    policyMaxAttempts,
  }: Pick<DeliveryResult, 'attempt' | 'claimedBy'> & { policyMaxAttempts: number },
): DeliveryResult {
  const resumed = plan === undefined ? null : resumedAfter(work, plan)
  const isBusy = plan?.kind === 'busy'
  const isHeld = isBusy && resumed === null
  return {
    retentionClass: work.retentionClass,
    deliveryId: work.deliveryId,
    organisationId: work.organisationId,
    projectId: work.projectId,
    sourceId: work.sourceId,
    connectionId: work.connectionId,
    destinationId: work.destinationId,
    partition: work.partition,
    hold: work.place === 'handed_over' ? null : work.hold,
    status: statusAfter(plan),
    attemptCount: work.attemptCount + (isBusy || isByHand(work) ? 0 : 1),
    maxAttempts: isByHand(work) ? null : policyMaxAttempts,
    throttledReason: isHeld ? 'destination_busy' : null,
    throttledAtMs: throttleToWrite(work, isHeld ? attempt.startedAtMs : null),
    nextAtMs: plan?.kind === 'retry' || plan?.kind === 'busy' ? plan.atMs : null,
    completedAtMs: null,
    ...resumed,
    isWaiting: work.isWaiting,
    claimedBy,
    attempt,
  }
}

function statusAfter(plan: RetryPlan | undefined): DeliveryResult['status'] {
  switch (plan?.kind) {
    case undefined:
      return 'succeeded'
    case 'busy':
      return 'throttled'
    case 'retry':
      return 'pending'
    case 'failed':
    case 'gone':
      return 'failed'
  }
}

/**
 * A failed manual attempt leaves its delivery as it was: ended, or waiting for its own time. A waiting delivery whose
 * endpoint answers 410 ends, like every other. (decisions: Delivery, "A manual attempt")
 */
function resumedAfter(
  { resumes }: Work,
  { kind }: RetryPlan,
): Pick<DeliveryResult, 'status' | 'nextAtMs' | 'completedAtMs'> | null {
  if (resumes === null) return null
  const { status, atMs } = resumes
  if (status !== 'pending') return { status, nextAtMs: null, completedAtMs: atMs }
  return kind === 'gone' ? null : { status, nextAtMs: atMs, completedAtMs: null }
}

/** The row takes over from the message, which is then done: a death of this worker leaves a due row behind. */
async function markLong(deps: DeliverDeps, work: Work, destination: Destination): Promise<void> {
  try {
    const leaseUntilMs = deps.clock.now() + destination.timeoutMs + LEASE_MS
    const { isOurs } = await deps.results.mark({ ...work, leaseUntilMs })
    if (!isOurs) return
    work.isWaiting = true
    deps.inFlight.acknowledge(work)
  } catch (err) {
    deps.log.warn({ err }, 'Cannot show a delivery as in flight')
  }
}
