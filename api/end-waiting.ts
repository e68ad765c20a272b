import { cancelWaiting, type Doomed } from '../core/db/deliveries/retries.ts'
import { withdrawDeleted } from '../core/stream/withdrawals.ts'
import type { Deps } from './deps.ts'

/**
 * To be called after the deletion, which cancelled what waited, was committed. Workers let go of what they hold for it,
 * and what one of them was parking before it heard of the deletion is cancelled here.
 */
export async function endWaiting(deps: Deps, deleted: readonly Doomed[]): Promise<void> {
  await withdrawDeleted(
    deps,
    deleted.map(({ id }) => id),
  )
  for (const one of deleted) {
    await deps.db.transaction().execute((tx) => cancelWaiting(tx, one, new Date(deps.clock.now())))
  }
}
