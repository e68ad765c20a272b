import type { Pool } from '../../core/db/db.ts'
import type { DeliveryResult } from '../../core/db/deliveries/record-results.ts'
import { markInFlight } from '../../core/db/deliveries/waiting.ts'
import { planRetry, type RetryPlan } from '../../core/delivery/retry.ts'
import { encodeId } from '../../core/ids.ts'
import { LEASE_MS } from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import type { AttemptResponse } from './attempt.ts'
import type { Destination } from './destinations.ts'
import type { Hands } from './hands.ts'
import { makeAttempt, type AttemptDeps, type TypeIds } from './make-attempt.ts'
import type { Results } from './results.ts'
import { dropLargeBody, type WholeWork, type Work } from './work.ts'

/** An attempt that lasts this long shows as `in_flight`. (decisions: Delivery) */
const SHOWN_AFTER_MS = 1_000

export interface DeliverDeps extends AttemptDeps {
  pool: Pool
  log: Logger
  /** One line an attempt. */
  lines: Logger
  results: Results
  hands: Hands
  /** The name that claimed rows carry. */
  workerName: string
  random: () => number
  /** The endpoint said that it is gone for good. */
  disable(destinationId: string): void
  count(outcome: DeliveryResult['attempt']['outcome'], durationMs: number): void
}

/** Makes one attempt and hands its result on to be written. Never throws. Resolves when the endpoint has answered. */
export async function deliver(
  deps: DeliverDeps,
  work: WholeWork,
  destination: Destination,
): Promise<{ busyUntilMs: number | null }> {
  deps.hands.begin(work)
  let marked: Promise<void> | undefined
  const marking = setTimeout(() => {
    marked = markLong(deps, work, destination)
  }, SHOWN_AFTER_MS)
  const { made, typeIds, response } = await makeAttempt(deps, work, destination)
  clearTimeout(marking)
  if (response.bodyFree === null) dropLargeBody(work)
  else void response.bodyFree.then(() => dropLargeBody(work))
  // A mark that is written after the result would leave behind a finished delivery that waits.
  await marked

  const plan = response.error === null ? undefined : planAfter(deps, work, destination, response)
  const attempt = { ...made, outcome: outcomeOf(plan) }
  const result = resultOf(work, plan, { attempt, claimedBy: deps.workerName })
  void record(deps, work, { result, typeIds })
  if (plan?.kind === 'gone') deps.disable(destination.id)
  return { busyUntilMs: plan?.kind === 'busy' ? plan.atMs : null }
}

async function record(
  deps: DeliverDeps,
  work: Work,
  { result, typeIds }: { result: DeliveryResult; typeIds: TypeIds },
): Promise<void> {
  const { attempt } = result
  deps.count(attempt.outcome, attempt.durationMs)
  deps.lines.info(
    {
      ...typeIds,
      destinationId: encodeId('dst', work.destinationId),
      attempt: attempt.number,
      trigger: attempt.trigger,
      outcome: attempt.outcome,
      responseStatus: attempt.responseStatus,
      errorCode: attempt.errorCode,
      durationMs: attempt.durationMs,
      nextAtMs: result.nextAtMs,
    },
    'Attempted a delivery',
  )
  work.room.grow(answerBytes(attempt))
  const { isKept } = await deps.results.record(result)
  if (isKept) deps.hands.settle(work)
  else deps.hands.release(work)
}

function answerBytes({ responseBody, responseHeaders }: DeliveryResult['attempt']): number {
  return (responseBody?.length ?? 0) + (responseHeaders?.length ?? 0)
}

function planAfter(
  deps: DeliverDeps,
  work: Work,
  destination: Destination,
  response: AttemptResponse,
): RetryPlan {
  const nowMs = deps.clock.now()
  const isAnswer = response.error === 'bad_response'
  return planRetry({
    policy: destination.retryPolicy,
    errorCode: response.error ?? 'bad_response',
    // A response that was cut off or too large is none, whatever its status.
    responseStatus: isAnswer ? response.status : null,
    retryAfter: response.headers.find(([name]) => name === 'retry-after')?.[1] ?? null,
    attemptCount: work.attemptCount + (isOutsideBudget(work) ? 0 : 1),
    attemptNumber: work.attemptNumber + 1,
    firstAttemptAtMs: work.firstAttemptAtMs ?? nowMs,
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
  { attempt, claimedBy }: Pick<DeliveryResult, 'attempt' | 'claimedBy'>,
): DeliveryResult {
  const isBusy = plan?.kind === 'busy'
  return {
    class: work.class,
    deliveryId: work.deliveryId,
    organisationId: work.organisationId,
    projectId: work.projectId,
    sourceId: work.sourceId,
    connectionId: work.connectionId,
    destinationId: work.destinationId,
    partition: work.partition,
    hold: work.isHandedOver ? null : work.hold,
    status: statusAfter(plan),
    attemptCount: work.attemptCount + (isBusy || isOutsideBudget(work) ? 0 : 1),
    throttledReason: isBusy ? 'destination_busy' : null,
    throttledAtMs: work.isThrottleKept
      ? null
      : (work.throttledAtMs ?? (isBusy ? attempt.startedAtMs : null)),
    nextAtMs: plan?.kind === 'retry' || plan?.kind === 'busy' ? plan.atMs : null,
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

/** A manual or bulk attempt is one more than the policy allows. (decisions: Resources, retry) */
function isOutsideBudget(work: Work): boolean {
  return work.attemptTrigger === 'manual' || work.attemptTrigger === 'bulk'
}

/** The row takes over from the message, which is then done: a death of this worker leaves a due row behind. */
async function markLong(deps: DeliverDeps, work: Work, destination: Destination): Promise<void> {
  try {
    const isOurs = await markInFlight(deps.pool, work, {
      leaseUntilMs: deps.clock.now() + destination.timeoutMs + LEASE_MS,
      claimedBy: deps.workerName,
    })
    if (!isOurs) return
    work.isWaiting = true
    deps.hands.acknowledge(work)
  } catch (err) {
    deps.log.warn({ err }, 'Cannot show a delivery as in flight')
  }
}
