import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { cancelStep, nextDoomedRoute } from '../../../core/db/deliveries/act/doomed-routes.ts'

/** Share of each second for cancelling: a long backlog of deleted routes leaves most of a core to live traffic. */
const PASS_MS = 200

/**
 * Cancels what waits for destinations and connections that were deleted, as far as the deletion itself did not. Whether
 * there was something.
 */
export async function cancelDoomed({ db, clock }: { db: Db; clock: Clock }): Promise<boolean> {
  let hasWorked = false
  const endsAt = performance.now() + PASS_MS
  do {
    const now = new Date(clock.now())
    const id = await nextDoomedRoute(db, now)
    if (id === undefined) return hasWorked
    hasWorked = true
    await db.transaction().execute((tx) => cancelStep(tx, id, now))
  } while (performance.now() < endsAt)
  return true
}
