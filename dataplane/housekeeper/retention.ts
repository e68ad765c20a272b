import { lastRunMs } from '../../core/db/retention/runs.ts'
import type { Logger } from '../../core/log.ts'
import { lastDueMs } from '../../core/retention/keep.ts'
import { runRetention } from '../../core/retention/run.ts'
import type { RetentionDeps } from '../../core/retention/step.ts'

/**
 * The nightly run when one is due, also one that was missed: it purges what was past retention at the moment it was
 * due. One that is interrupted or leaves something is due again.
 */
export async function purgeNightly(deps: RetentionDeps & { log: Logger }): Promise<void> {
  const { db, clock, log, signal } = deps
  const dueMs = lastDueMs(clock.now())
  const lastMs = await lastRunMs(db)
  if (lastMs !== undefined && lastMs >= dueMs) return
  try {
    const report = await runRetention(deps, dueMs)
    if (report !== undefined) log.info({ report }, 'Purged what is past retention')
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
