import type { Registry } from 'prom-client'

import { foldUsage } from '../../core/db/billing/usage.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { deleteOldChanges } from '../../core/db/processes/processes.ts'
import { deleteOldAnswers } from '../../core/db/requests/idempotent-answers.ts'
import { every } from '../every.ts'
import { Ownership } from '../ownership.ts'
import { deleteFinished, runOperations } from './operations/operations.ts'
import { Sweep, type SweepDeps } from './sweep/sweep.ts'
import { pruneAccounts } from './tasks/accounts.ts'
import { followPlans, keepBilling, type BillingTaskDeps } from './tasks/billing.ts'
import { pruneConnectors } from './tasks/connectors.ts'
import { cancelDoomed } from './tasks/doomed-routes.ts'
import { judgeDestinations } from './tasks/failing.ts'
import { measureInstallation } from './tasks/installation-metrics.ts'
import { purgeNightly } from './tasks/retention.ts'
import { secretsTask, type SecretsTaskDeps } from './tasks/secrets.ts'
import { foldStatistics, pruneStatistics } from './tasks/statistics.ts'
import { WaitingCounts } from './tasks/waiting-counts.ts'

const SWEEP_MS = 1_000
const FOLD_MS = 1_000
const BILLING_MS = 1_000
const COUNT_MS = 100
const OPERATIONS_MS = 100
const DOOMED_MS = 1_000
const MINUTE_MS = 60_000

export interface HousekeeperDeps extends SweepDeps, BillingTaskDeps, SecretsTaskDeps {
  /** Under which name the lease is held. */
  name: string
  registry: Registry
}

/** Runs the tasks that one process at a time may do; the others stand by for its lease. */
export function startHousekeeper(deps: HousekeeperDeps): AsyncDisposable {
  const { db, clock, log, name } = deps
  const stop = new AbortController()
  const ownership = new Ownership({ db, log, lease: 'housekeeper', holder: name })
  const task = (intervalMs: number, taskName: string, act: () => Promise<unknown>): Promise<void> =>
    every(intervalMs, { signal: stop.signal, log, name: taskName }, async () => {
      if (ownership.isHeld) await act()
    })
  const sweep = new Sweep(deps)
  const waiting = new WaitingCounts(db, clock)
  measureInstallation(deps, { sweep, waiting, isLeader: () => ownership.isHeld })
  const tasks = [
    task(SWEEP_MS, 'sweep', () => sweep.pass()),
    task(FOLD_MS, 'usage', () => foldUsage(db)),
    task(BILLING_MS, 'billing', () => keepBilling(deps)),
    task(MINUTE_MS, 'plans', () => followPlans(deps)),
    task(FOLD_MS, 'statistics', () => foldStatistics(db)),
    task(MINUTE_MS, 'failing destinations', () => judgeDestinations(deps)),
    task(COUNT_MS, 'waiting counts', () => waiting.step()),
    task(MINUTE_MS, 'old statistics', () => pruneStatistics(db, clock.now())),
    task(OPERATIONS_MS, 'operations', () =>
      runOperations(deps, () => ownership.isHeld && !stop.signal.aborted),
    ),
    task(DOOMED_MS, 'deleted routes', () => cancelDoomed(deps)),
    task(MINUTE_MS, 'finished operations', () => deleteFinished(deps)),
    task(MINUTE_MS, 'partitions', () => ensurePartitions(db, clock.now())),
    task(MINUTE_MS, 'retention', () => purgeNightly({ ...deps, signal: stop.signal })),
    task(MINUTE_MS, 'changes', () => deleteOldChanges(db, clock.now())),
    task(MINUTE_MS, 'secrets', secretsTask(deps)),
    task(MINUTE_MS, 'replicas', () => pruneConnectors(db, clock.now())),
    task(MINUTE_MS, 'accounts', () => pruneAccounts(db, clock.now())),
    task(MINUTE_MS, 'idempotency', () => deleteOldAnswers(db, clock.now())),
  ]
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(tasks)
      await ownership[Symbol.asyncDispose]()
    },
  }
}
