import { cancelStep, type DoomedRoute } from '../../core/db/deliveries/act/doomed-routes.ts'
import { withdrawDeleted } from '../../core/notices/withdrawals.ts'
import type { Deps } from '../deps.ts'

/** The request cancels for at most this long and leaves the rest to the housekeeper. */
const CANCEL_MS = 1_000

/**
 * Cancels the waiting deliveries of deleted resources, for as long as a request may take; workers drop theirs. Call it
 * after the deletion is committed.
 */
export async function endWaiting(deps: Deps, doomed: readonly DoomedRoute[]): Promise<void> {
  await withdrawDeleted(
    deps,
    doomed.map(({ id }) => id),
  )
  const endsAt = performance.now() + CANCEL_MS
  for (const { id } of doomed) {
    let goesOn = true
    while (goesOn && performance.now() < endsAt) {
      const now = new Date(deps.clock.now())
      goesOn = await deps.db.transaction().execute((tx) => cancelStep(tx, id, now))
    }
  }
}
