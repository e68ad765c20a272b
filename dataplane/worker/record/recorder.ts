import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import type { Conclusion } from '../../../core/delivery/conclusion.ts'
import { timeOfId } from '../../../core/ids.ts'
import { roundMs, type Logger } from '../../../core/log.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import type { WorkerMetrics } from '../in-flight/metrics.ts'
import type { Work } from '../in-flight/work.ts'
import type { Results } from './results.ts'

export interface RecorderDeps {
  results: Pick<Results, 'record'>
  inFlight: InFlight
  metrics: Pick<WorkerMetrics, 'noteAttempt' | 'throttled'>
  /** Gets a line for each attempt. */
  attemptLog: Logger
  /** The name that claimed rows carry. */
  name: string
}

/** An attempt as it is kept, before it is decided what follows from it. */
export type Made = Omit<DeliveryResult['attempt'], 'outcome'>

/** Ids as people see them, encoded once: for headers, the signature and log lines. */
export interface TypeIds {
  deliveryId: string
  eventId: string | null
  destinationId: string
}

export interface Attempted {
  made: Made
  typeIds: TypeIds
}

/**
 * Records an attempt of a delivery and what follows from it: in PostgreSQL, in metrics and in the log. The delivery leaves
 * this worker when its row is written.
 */
export type Recorder = (work: Work, attempted: Attempted, conclusion: Conclusion) => void

export function openRecorder(deps: RecorderDeps): Recorder {
  return (work, { made, typeIds }, conclusion) => {
    const { outcome, nextAtMs, throttledReason } = conclusion
    const { responseBody, responseHeaders } = made
    work.room.grow((responseBody?.length ?? 0) + (responseHeaders?.length ?? 0))
    void write(deps, work, resultOf(work, { made, conclusion, claimedBy: deps.name }))
    deps.metrics.noteAttempt({ ...made, outcome }, latencyMsOf(work, made))
    if (throttledReason !== null && work.throttled === null) {
      deps.metrics.throttled[throttledReason]++
    }
    deps.attemptLog.info(
      {
        ...typeIds,
        attempt: made.number,
        trigger: made.trigger,
        outcome,
        responseStatus: made.responseStatus,
        errorCode: made.errorCode,
        durationMs: roundMs(made.durationMs),
        nextAtMs,
      },
      'Attempted a delivery',
    )
  }
}

/** From the storing of the event to the first attempt; null for a later one. */
function latencyMsOf({ deliveryId }: Work, { number, startedAtMs }: Made): number | null {
  return number === 1 ? startedAtMs - timeOfId(deliveryId) : null
}

async function write(deps: RecorderDeps, work: Work, result: DeliveryResult): Promise<void> {
  const { isKept } = await deps.results.record(result)
  if (isKept) deps.inFlight.settle(work)
  else deps.inFlight.release(work)
}

function resultOf(
  work: Work,
  { made, conclusion, claimedBy }: { made: Made; conclusion: Conclusion; claimedBy: string },
): DeliveryResult {
  const { outcome, status, attemptCount, maxAttempts, throttledReason } = conclusion
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
    status,
    attemptCount,
    maxAttempts,
    throttledReason,
    throttledAtMs: conclusion.throttledAtMs,
    nextAtMs: conclusion.nextAtMs,
    completedAtMs: conclusion.completedAtMs,
    isWaiting: work.isWaiting,
    claimedBy,
    attempt: { ...made, outcome },
  }
}
