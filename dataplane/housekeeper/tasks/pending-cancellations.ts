import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  cancelStep,
  nextPendingCancellation,
} from '../../../core/db/deliveries/act/pending-cancellations.ts'

/** Share of each second for cancelling: a long backlog of deleted resources leaves most of a core to live traffic. */
const PASS_MS = 200

/**
 * Cancels the deliveries that wait for deleted destinations and connections, as far as the deletion itself did not. Returns
 * whether there was one.
 */
export async function advancePendingCancellations({
  db,
  clock,
}: {
  db: Db
  clock: Clock
}): Promise<boolean> {
  let hasWorked = false
  const endsAt = performance.now() + PASS_MS
  do {
    const now = new Date(clock.now())
    const id = await nextPendingCancellation(db, now)
    if (id === undefined) return hasWorked
    hasWorked = true
    await db.transaction().execute((tx) => cancelStep(tx, id, now))
  } while (performance.now() < endsAt)
  return true
}
