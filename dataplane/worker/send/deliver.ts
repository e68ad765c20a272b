import { conclude, type BusyAnswer } from '../../../core/delivery/conclusion.ts'
import type { Held } from '../../../core/delivery/transport.ts'
import { LEASE_MS } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import type { WholeWork, Work } from '../in-flight/work.ts'
import type { Recorder } from '../record/recorder.ts'
import type { Results } from '../record/results.ts'
import type { Destination } from './destination.ts'
import { makeAttempt, type AttemptDeps } from './make-attempt.ts'

/** An attempt that lasts this long shows as `in_flight`. (decisions: Delivery) */
const SHOWN_AFTER_MS = 1_000

export interface DeliverDeps extends AttemptDeps {
  log: Logger
  results: Pick<Results, 'mark'>
  record: Recorder
  inFlight: InFlight
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
  busy: BusyAnswer | null
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
  let marked: Promise<void> | undefined
  const marking = setTimeout(() => {
    marked = markLong(deps, work, destination)
  }, SHOWN_AFTER_MS)
  const attempted = await makeAttempt(deps, work, destination)
  clearTimeout(marking)
  // A mark that is written after the result would leave behind a finished delivery that waits.
  await marked
  const { response } = attempted
  if (response.held !== undefined) return { hasSucceeded: false, busy: null, held: response.held }

  const conclusion = conclude(work, {
    response,
    policy: destination.retryPolicy,
    isCurrent: isCurrent(),
    startedAtMs: attempted.made.startedAtMs,
    nowMs: deps.clock.now(),
    random: deps.random(),
  })
  attempted.traced?.end({ ...attempted.made, outcome: conclusion.outcome })
  deps.record(work, attempted, conclusion)
  if (conclusion.isGone) deps.disable(destination.id)
  return { hasSucceeded: conclusion.outcome === 'succeeded', busy: conclusion.busy }
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
    // PostgreSQL may have written the row all the same: the result ends it.
    work.isWaiting = true
    deps.log.warn({ err }, 'Cannot show a delivery as in flight')
  }
}
