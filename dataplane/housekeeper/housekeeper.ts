import { ensurePartitions } from '../../core/db/partitions.ts'
import { deleteOldChanges } from '../../core/db/processes.ts'
import { foldUsage } from '../../core/db/usage.ts'
import { every } from '../every.ts'
import { Ownership } from '../ownership.ts'
import { sweepFirstAttempts, type SweepDeps } from './sweep.ts'

const SWEEP_MS = 1_000
const FOLD_MS = 1_000
const MINUTE_MS = 60_000

export interface HousekeeperDeps extends SweepDeps {
  /** Under which name the lease is held. */
  name: string
}

/** Runs the tasks that one process at a time may do; the others stand by for its lease. */
export function startHousekeeper(deps: HousekeeperDeps): AsyncDisposable {
  const { db, clock, log, name } = deps
  const stop = new AbortController()
  const ownership = new Ownership({ db, clock, log, lease: 'housekeeper', holder: name })
  const task = (intervalMs: number, taskName: string, act: () => Promise<unknown>): Promise<void> =>
    every(intervalMs, { signal: stop.signal, log, name: taskName }, async () => {
      if (ownership.isHeld) await act()
    })
  const tasks = [
    task(SWEEP_MS, 'sweep', () => sweepFirstAttempts(deps)),
    task(FOLD_MS, 'usage', () => foldUsage(db)),
    task(MINUTE_MS, 'partitions', () => ensurePartitions(db, clock.now())),
    task(MINUTE_MS, 'changes', () => deleteOldChanges(db, clock.now())),
  ]
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(tasks)
      await ownership[Symbol.asyncDispose]()
    },
  }
}
