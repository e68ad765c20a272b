import { cancelStep, type DoomedRoute } from '../../core/db/deliveries/doomed-routes.ts'
import { withdrawDeleted } from '../../core/stream/withdrawals.ts'
import type { Deps } from '../deps.ts'

/** What waits longer than this to be cancelled is left to the housekeeper. */
const CANCEL_MS = 1_000

/**
 * To be called after the deletion was committed. Workers let go of what they hold for it, and what waits is cancelled as
 * far as a request may take.
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
