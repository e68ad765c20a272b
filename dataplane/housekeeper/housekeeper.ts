import type { Registry } from 'prom-client'

import { MINUTE_MS } from '../../core/clock.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { deleteOldChanges } from '../../core/db/processes/processes.ts'
import { deleteOldAnswers } from '../../core/db/requests/idempotent-answers.ts'
import { OPERATION_DUE } from '../../core/notices/notice-subjects.ts'
import { Bell, every, Idleness, type EveryOptions, type Rest } from '../every.ts'
import { Ownership } from '../ownership.ts'
import { alertTasks, type AlertTasksDeps } from './alerts/alert-tasks.ts'
import { deleteFinished, runOperations } from './operations/operations.ts'
import { Sweep, type SweepDeps } from './sweep/sweep.ts'
import { pruneAccounts } from './tasks/accounts.ts'
import { followPlans, keepBilling, type BillingTaskDeps } from './tasks/billing.ts'
import { pruneConnectors } from './tasks/connectors.ts'
import { judgeDestinations } from './tasks/failing.ts'
import { measureInstallation } from './tasks/installation-metrics.ts'
import { advancePendingCancellations } from './tasks/pending-cancellations.ts'
import { purgeNightly } from './tasks/retention.ts'
import { secretsTask, type SecretsTaskDeps } from './tasks/secrets.ts'
import {
  foldAllUsage,
  foldStatistics,
  pruneStatistics,
  rollUpStatistics,
} from './tasks/statistics.ts'
import { WaitingCounts } from './tasks/waiting-counts.ts'

const SWEEP_MS = 1_000
const FOLD_MS = 1_000
const ROLL_UP_MS = 15_000
const BILLING_MS = 2_000
const COUNT_MS = 1_000
const OPERATIONS_MS = 100
/** The longest rest of a task that finds nothing to do. */
const IDLE_MS = 4_000
const CANCELLATIONS_MS = 1_000

export interface HousekeeperDeps
  extends SweepDeps, BillingTaskDeps, SecretsTaskDeps, AlertTasksDeps {
  /** Under which name the lease is held. */
  name: string
  registry: Registry
}

/** Runs the tasks that one process at a time may do, for which the others stand by, and its part of those that all do. */
export function startHousekeeper(deps: HousekeeperDeps): AsyncDisposable {
  const { db, clock, log, name } = deps
  const stop = new AbortController()
  const ownership = new Ownership({ db, log, lease: 'housekeeper', holder: name })
  const mayGoOn = (): boolean => ownership.isHeld && !stop.signal.aborted
  const task = (
    intervalMs: number,
    taskName: string,
    act: () => Promise<Rest | void>,
    bell?: Bell,
  ): Promise<void> =>
    every(intervalMs, { signal: stop.signal, log, name: taskName, ...(bell && { bell }) }, () =>
      ownership.isHeld ? act() : Promise.resolve(),
    )
  /** A task that says whether it found something to do. */
  const patient = (
    [intervalMs, mostMs]: readonly [number, number],
    taskName: string,
    act: () => Promise<boolean>,
    bell?: Bell,
  ): Promise<void> => {
    const idleness = new Idleness(intervalMs, mostMs)
    return task(intervalMs, taskName, async () => idleness.after(await act()), bell)
  }
  const everywhere = { signal: stop.signal, log }
  const wanted = new Bell()
  const following = deps.nats.subscribe(OPERATION_DUE, { callback: () => wanted.ring() })
  const sweep = new Sweep(deps)
  const waiting = new WaitingCounts(db, clock)
  measureInstallation(deps, { sweep, waiting, isLeader: () => ownership.isHeld })
  const tasks = [
    patient([SWEEP_MS, IDLE_MS], 'sweep', () => sweep.pass()),
    shared([FOLD_MS, IDLE_MS], { ...everywhere, name: 'usage' }, () => foldAllUsage(db)),
    patient([BILLING_MS, IDLE_MS], 'billing', () => keepBilling(deps)),
    task(MINUTE_MS, 'plans', () => followPlans(deps)),
    shared([FOLD_MS, IDLE_MS], { ...everywhere, name: 'statistics' }, () => foldStatistics(db)),
    shared([ROLL_UP_MS, MINUTE_MS], { ...everywhere, name: 'roll-ups' }, () =>
      rollUpStatistics(db, clock.now()),
    ),
    task(MINUTE_MS, 'failing destinations', () => judgeDestinations(deps)),
    ...alertTasks(deps, mayGoOn).map((each) => task(...each)),
    task(COUNT_MS, 'waiting counts', () => waiting.step()),
    task(MINUTE_MS, 'old statistics', () => pruneStatistics(db, clock.now())),
    patient([OPERATIONS_MS, IDLE_MS], 'operations', () => runOperations(deps, mayGoOn), wanted),
    patient([CANCELLATIONS_MS, IDLE_MS], 'pending cancellations', () =>
      advancePendingCancellations(deps),
    ),
    task(MINUTE_MS, 'finished operations', () => deleteFinished(deps)),
    task(MINUTE_MS, 'partitions', () => ensurePartitions(db, clock.now())),
    task(MINUTE_MS, 'retention', () => purgeNightly({ ...deps, signal: stop.signal })),
    task(MINUTE_MS, 'changes', () => deleteOldChanges(db, clock.now())),
    task(MINUTE_MS, 'secrets', secretsTask(deps)),
    task(MINUTE_MS, 'replicas', () => pruneConnectors(db, clock.now())),
    task(MINUTE_MS, 'accounts', () => pruneAccounts(db, clock.now())),
    task(MINUTE_MS, 'idempotency', async () => void (await deleteOldAnswers(db, clock.now()))),
  ]
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      following.unsubscribe()
      await Promise.all(tasks)
      await ownership[Symbol.asyncDispose]()
    },
  }
}

/** A task that every housekeeper does at once, leader or not: its statements take rows that no other has. */
function shared(
  [intervalMs, mostMs]: readonly [number, number],
  options: EveryOptions,
  act: () => Promise<boolean>,
): Promise<void> {
  const idleness = new Idleness(intervalMs, mostMs)
  return every(intervalMs, options, async () => idleness.after(await act()))
}
