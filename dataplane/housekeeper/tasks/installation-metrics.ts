import type { JetStreamManager } from '@nats-io/jetstream'
import type { Registry } from 'prom-client'

import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { earliestNextMs } from '../../../core/db/deliveries/read/oldest-due.ts'
import { lastRunMs } from '../../../core/db/retention/runs.ts'
import { streamDepth } from '../../../core/jetstream/stream-depth.ts'
import { counterOf, gaugeOf, gaugesOf } from '../../../core/metrics/instruments.ts'
import { lastDueMs } from '../../../core/retention/keep.ts'
import { within } from '../../../core/within.ts'
import type { WaitingCounts, WaitingTotals } from './waiting-counts.ts'

/** Whoever scrapes, and however often: the services are asked once in this time. */
const KEPT_MS = 1_000
const ANSWER_MS = 2_000

interface InstallationDeps {
  db: Db
  manager: JetStreamManager
  clock: Clock
  registry: Registry
}

interface Watched {
  sweep: { readonly moved: number; lagMs(): number | undefined }
  waiting: WaitingCounts
  /** Only one process tells, so that sums are right. */
  isLeader: () => boolean
}

/**
 * The figures of the whole installation. A standby, or one that cannot reach a service, has no value for them rather than
 * an old one.
 */
export function measureInstallation(
  deps: InstallationDeps,
  { sweep, waiting, isLeader }: Watched,
): void {
  const { db, clock, registry } = deps
  const gauge: Show = (name, help, read) =>
    gaugeOf(registry, { name, help }, () => (isLeader() ? read() : undefined))
  gaugeOf(
    registry,
    {
      name: 'postern_housekeeper_leader',
      help: '1 in the housekeeper that holds the lease, which alone tells of the installation',
    },
    () => (isLeader() ? 1 : 0),
  )
  gaugesOf(
    registry,
    {
      name: 'postern_deliveries_waiting',
      help: 'Deliveries that wait for an attempt, by state',
      label: 'state',
    },
    () => (isLeader() ? byState(waiting.totals) : undefined),
  )
  gauge(
    'postern_deliveries_due',
    'Waiting deliveries whose time has come, that no worker has begun',
    () => waiting.totals?.due,
  )
  const nextMs = kept(() => earliestNextMs(db))
  gauge(
    'postern_oldest_due_delivery_age_seconds',
    'Time since the most overdue delivery was due; 0 when none is',
    async () => {
      const next = await nextMs()
      if (next === undefined || waiting.totals === undefined) return undefined
      const overdueMs = next.value === undefined ? 0 : clock.now() - next.value
      return Math.max(0, overdueMs, waiting.totals.oldestFirstMs) / 1_000
    },
  )
  measureServices(deps, gauge)
  gauge(
    'postern_sweeper_lag_seconds',
    'How far the search for lost first attempts is behind',
    () => {
      const lagMs = sweep.lagMs()
      return lagMs === undefined ? undefined : lagMs / 1_000
    },
  )
  counterOf(
    registry,
    {
      name: 'postern_sweeper_recovered_deliveries_total',
      help: 'Lost first attempts that were made due',
    },
    () => sweep.moved,
  )
}

type Value = number | undefined | Promise<number | undefined>
type Show = (name: string, help: string, read: () => Value) => void

function measureServices({ db, manager, clock }: InstallationDeps, gauge: Show): void {
  // None is late that this process has had no time for yet.
  const startedMs = clock.now()
  const lastMs = kept(() => lastRunMs(db))
  gauge(
    'postern_retention_lag_seconds',
    'Time since a run of retention was due that has not ended; 0 when none is',
    async () => {
      const last = await lastMs()
      if (last === undefined) return undefined
      const dueMs = lastDueMs(clock.now())
      const lateMs = clock.now() - (last.value === undefined ? startedMs : dueMs)
      return last.value !== undefined && last.value >= dueMs ? 0 : lateMs / 1_000
    },
  )
  const depth = kept(() => streamDepth(manager))
  gauge(
    'postern_delivery_stream_messages',
    'Messages in the stream of deliveries that are not acked, each with up to 64 deliveries',
    async () => (await depth())?.value.messages,
  )
  gauge(
    'postern_delivery_stream_bytes',
    'Bytes of those messages',
    async () => (await depth())?.value.bytes,
  )
}

function byState(totals: WaitingTotals | undefined): Record<string, number> | undefined {
  return totals && { pending: totals.pending, throttled: totals.throttled }
}

/** Gives what `look` found less than a second ago; undefined when it cannot look. */
function kept<T>(look: () => Promise<T>): () => Promise<{ value: T } | undefined> {
  let lookedAt = Number.NEGATIVE_INFINITY
  let found: Promise<{ value: T } | undefined> = Promise.resolve(undefined)
  return async () => {
    if (performance.now() - lookedAt > KEPT_MS) {
      lookedAt = performance.now()
      const looking = look().then(
        (value) => ({ value }),
        () => undefined,
      )
      found = within(ANSWER_MS, looking, () => undefined)
    }
    return await found
  }
}
