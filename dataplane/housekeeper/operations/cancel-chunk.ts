import { nextDeliveries } from '../../../core/actions/selection.ts'
import { withdrawAndCancel, type Cancellation } from '../../../core/actions/withdraw-and-cancel.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { readCancellable } from '../../../core/db/deliveries/act/cancellable-deliveries.ts'
import {
  advanceOperation,
  postponeOperation,
  takeRunning,
  type DeliveryOperation,
  type LeftOver,
  type Operation,
} from '../../../core/db/operations/operations.ts'
import { OPERATION_CHUNK } from '../../../core/limits.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { countsOf } from './reasons.ts'

interface CancelDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
}

/** A delivery that goes from hand to hand (sweeper, lane, parked) is where it stays long before the last try. */
const TRIES = 20
const AGAIN_MS = 50

const CANCELLABLE: ReadonlySet<string> = new Set(['pending', 'throttled'])

/** The operation ended or went on in other hands: what was begun is undone. */
export class EndedMeanwhile extends Error {
  override readonly name = 'EndedMeanwhile'
}

/** The deliveries of a chunk. */
interface Take {
  deliveries: (LeftOver & { status: string })[]
  afterId: string | null
  isLast: boolean
}

/**
 * Cancels the next deliveries of an operation. The transaction that cancels also counts cancelled and refused deliveries.
 * Undecided ones are stored with the operation and come first next time.
 */
export async function cancelChunk(deps: CancelDeps, operation: DeliveryOperation): Promise<void> {
  const { deliveries, afterId, isLast } = await take(deps, operation)
  const waiting = deliveries.filter(({ status }) => CANCELLABLE.has(status))
  const others = deliveries.filter(({ status }) => !CANCELLABLE.has(status))
  const now = new Date(deps.clock.now())
  let advanced: Operation = operation
  const outcomes = await withdrawAndCancel(deps, waiting, async (tx, cancelled) => {
    const taken = await takeRunning(tx, operation)
    if (taken === undefined) throw new EndedMeanwhile()
    const done = new Set(cancelled.map(({ id }) => id))
    const progress = {
      processed: others.length + cancelled.length,
      failures: countsOf(others.map(({ status }) => status)),
      afterId,
      leftOver: waiting.filter(({ id }) => !done.has(id)).map(again),
      isLast,
    }
    advanced = await advanceOperation(tx, taken, progress, now)
  })
  if (advanced.leftOver.length > 0) await settle(deps, advanced, outcomes)
}

async function take({ db, clock }: CancelDeps, operation: DeliveryOperation): Promise<Take> {
  const { afterId, leftOver } = operation
  if (leftOver.length > 0) {
    const found = new Map((await readCancellable(db, leftOver)).map((one) => [one.id, one.status]))
    const deliveries = leftOver.flatMap((one) => {
      const status = found.get(one.id)
      return status === undefined ? [] : [{ ...one, status }]
    })
    return { deliveries, afterId, isLast: false }
  }
  const place = { ...operation, nowMs: clock.now() }
  const step = await nextDeliveries(db, operation.selection, place, OPERATION_CHUNK)
  const deliveries = step.found.map((one) => ({
    retentionClass: one.retentionClass,
    id: one.id,
    status: one.status,
    tries: 0,
  }))
  return { deliveries, afterId: step.afterId, isLast: step.isLast }
}

function again({ retentionClass, id, tries }: LeftOver): LeftOver {
  return { retentionClass, id, tries: tries + 1 }
}

/** Gives up what is being sent and what was tried often enough; the rest is tried again in a moment. */
async function settle(
  deps: CancelDeps,
  operation: Operation,
  outcomes: ReadonlyMap<string, Cancellation>,
): Promise<void> {
  const reasons: string[] = []
  const leftOver = operation.leftOver.filter(({ id, tries }) => {
    const outcome = outcomes.get(id)
    const isFinal = outcome === 'under_way' || tries >= TRIES
    if (isFinal) reasons.push(outcome === 'unanswered' ? 'unanswered' : 'in_flight')
    return !isFinal
  })
  await deps.db.transaction().execute(async (tx) => {
    const taken = await takeRunning(tx, operation)
    if (taken === undefined) return
    const now = new Date(deps.clock.now())
    const { afterId } = taken
    const failures = countsOf(reasons)
    const progress = { processed: reasons.length, failures, afterId, leftOver, isLast: false }
    await advanceOperation(tx, taken, progress, now)
    if (leftOver.length === 0) return
    await postponeOperation(tx, taken.id, { now, dueAt: new Date(now.getTime() + AGAIN_MS) })
  })
}
