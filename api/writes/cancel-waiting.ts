import {
  cancelStep,
  type PendingCancellation,
} from '../../core/db/deliveries/act/pending-cancellations.ts'
import { withdrawDeleted } from '../../core/notices/withdrawals.ts'
import type { Deps } from '../deps.ts'

/** The request cancels for at most this long and leaves the rest to the housekeeper. */
const CANCEL_MS = 1_000

/**
 * Cancels the waiting deliveries of deleted resources, for as long as a request may take; workers drop theirs. Call it
 * after the deletion is committed.
 */
export async function cancelWaiting(
  deps: Deps,
  pending: readonly PendingCancellation[],
): Promise<void> {
  await withdrawDeleted(
    deps,
    pending.map(({ id }) => id),
  )
  const endsAt = performance.now() + CANCEL_MS
  for (const { id } of pending) {
    let goesOn = true
    while (goesOn && performance.now() < endsAt) {
      const now = new Date(deps.clock.now())
      goesOn = await deps.db.transaction().execute((tx) => cancelStep(tx, id, now))
    }
  }
}
