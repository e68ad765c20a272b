import { lastRunMs } from '../../../core/db/retention/runs.ts'
import type { Logger } from '../../../core/log.ts'
import { lastDueMs } from '../../../core/retention/keep.ts'
import { runRetention } from '../../../core/retention/run-retention.ts'
import type { RetentionDeps } from '../../../core/retention/step.ts'

/**
 * Makes the nightly run if it is due, also a missed one: it purges everything that was past retention at its time. A run
 * that is interrupted or leaves something is due again.
 */
export async function purgeNightly(deps: RetentionDeps & { log: Logger }): Promise<void> {
  const { db, clock, log, signal } = deps
  const dueMs = lastDueMs(clock.now())
  const lastMs = await lastRunMs(db)
  if (lastMs !== undefined && lastMs >= dueMs) return
  try {
    const report = await runRetention(deps, dueMs)
    if (report !== undefined) log.info({ report }, 'Purged rows past retention')
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
