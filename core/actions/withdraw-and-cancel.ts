import type { Clock } from '../clock.ts'
import type { Db } from '../db/connection/db.ts'
import {
  cancelUnchanged,
  readCancellable,
  type CancellableDelivery,
} from '../db/deliveries/act/cancellable-deliveries.ts'
import type { NatsConnection } from '../nats.ts'
import { withdraw } from '../notices/withdrawals.ts'

/** Only a waiting delivery can be cancelled. (decisions: Answers of actions) */
const CANCELLABLE: ReadonlySet<string> = new Set(['pending', 'throttled'])

/**
 * How a cancellation ended. `under_way`: its attempt has begun and shows as `in_flight` only later. `moved`: it was
 * taken, parked or locked by another in the meantime; the next try sees where it is. `unanswered`: a worker that may
 * have it has not said that it let go.
 */
export type Cancellation = 'cancelled' | 'not_waiting' | 'under_way' | 'moved' | 'unanswered'

/**
 * Cancels deliveries so that no attempt of a cancelled one begins afterwards: workers drop their leased deliveries, then
 * each row is cancelled if its lease is unchanged. A worker that comes later must take a new lease and finds the row
 * cancelled. `within` runs in the transaction with the cancelled deliveries.
 */
export async function withdrawAndCancel(
  deps: { db: Db; nats: NatsConnection; clock: Clock },
  deliveries: readonly { retentionClass: number; id: string }[],
  within: (tx: Db, cancelled: readonly CancellableDelivery[]) => Promise<void>,
): Promise<Map<string, Cancellation>> {
  const found = await readCancellable(deps.db, deliveries)
  const waiting = found.filter(({ status }) => CANCELLABLE.has(status))
  const leased = waiting.filter((one) => leaseOf(one) > deps.clock.now())
  const { underWay, isComplete } = await withdraw(deps, {
    deliveries: leased.map((one) => ({
      id: one.id,
      destinationId: one.destinationId,
      leaseUntilMs: leaseOf(one),
    })),
    deleted: [],
  })
  const unanswered = new Set(isComplete ? [] : leased)
  const free = waiting.filter((one) => !underWay.has(one.id) && !unanswered.has(one))
  const cancelled = await deps.db.transaction().execute(async (tx) => {
    const ids = await cancelUnchanged(tx, free, new Date(deps.clock.now()))
    await within(
      tx,
      free.filter(({ id }) => ids.has(id)),
    )
    return ids
  })
  const outcomeOf = (one: CancellableDelivery): Cancellation => {
    if (!CANCELLABLE.has(one.status)) return 'not_waiting'
    if (underWay.has(one.id)) return 'under_way'
    if (unanswered.has(one)) return 'unanswered'
    return cancelled.has(one.id) ? 'cancelled' : 'moved'
  }
  return new Map(found.map((one) => [one.id, outcomeOf(one)]))
}

/** Until when a worker may have it; zero when none can. */
function leaseOf({ leaseUntil, claimedBy, nextAt }: CancellableDelivery): number {
  return (claimedBy === null ? leaseUntil : nextAt)?.getTime() ?? 0
}
