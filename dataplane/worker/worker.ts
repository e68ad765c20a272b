import { setTimeout as sleep } from 'node:timers/promises'

import type { Clock } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/db.ts'
import { disableDestination, writePacing } from '../../core/db/delivery-destinations.ts'
import { findEventBody } from '../../core/db/event-bodies.ts'
import { forgetProcess, PROCESS_LIVE_MS, reportProcess } from '../../core/db/processes.ts'
import { claimDue, claimParked, parkedLanes, releaseClaims } from '../../core/db/waiting.ts'
import { guardedLookup, type IsAllowed } from '../../core/egress/connect.ts'
import { newId } from '../../core/ids.ts'
import { LEASE_MS, PARTITIONS } from '../../core/limits.ts'
import { withoutRedaction, type Logger } from '../../core/log.ts'
import type { Plans } from '../../core/plans/plans.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import { announceChanges, type ConfigChange } from '../../core/stream/config-changes.ts'
import { ensureDeliveryStream } from '../../core/stream/delivery-stream.ts'
import type { NatsConnection } from '../../core/stream/nats.ts'
import { WAITING_DUE } from '../../core/stream/subjects.ts'
import { followWithdrawals } from '../../core/stream/withdrawals.ts'
import { followConfig } from '../config-feed.ts'
import { every } from '../every.ts'
import { Ownership } from '../ownership.ts'
import { AccessTokens } from './access-tokens.ts'
import { consumeDeliveries, type InHand } from './consume.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import { Destinations } from './destinations.ts'
import { openDispatcher } from './dispatcher.ts'
import { Lanes } from './lanes.ts'
import type { WorkerMetrics } from './metrics.ts'
import { Pacer } from './pacer.ts'
import { openResults } from './results.ts'
import { startTester } from './test-delivery.ts'
import { Withdrawals } from './withdrawals.ts'
import { workOfClaim, type Work } from './work.ts'

/** How late a retry may be for want of a look. */
const DUE_POLL_MS = 100
const DUE_BATCH = 256

/** Due rows are not taken while this much is in memory. */
const HELD_MAX = 4_096

/** Parked rows of a lane that is not open: after a restart, or when a destination is enabled. */
const PARKED_SCAN_MS = 1_000
const PACING_WRITE_MS = 1_000

/** A worker that is told to stop finishes what it has in hand for this long, then gives the rest back. */
const DRAIN_MS = 2_500

const ALL_PARTITIONS = Array.from({ length: PARTITIONS }, (_, partition) => partition)

export interface WorkerDeps {
  pool: Pool
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  keyring: Keyring
  plans: Plans
  isAllowed: IsAllowed
  /** Under which name the lease is held and rows are claimed. */
  name: string
  random: () => number
  metrics: WorkerMetrics
}

/**
 * Sends deliveries: new ones from the stream, waiting ones from PostgreSQL, each through its destination's lane. One
 * worker holds all partitions; another stands by for its lease.
 */
export async function startWorker(deps: WorkerDeps): Promise<AsyncDisposable> {
  const { pool, db, nats, clock, log, name } = deps
  const stop = new AbortController()
  const { signal } = stop
  const results = openResults({ pool, clock, log })
  const { lanes, pacer, tester, withdrawals, close } = openLanes(deps, results)
  const ownership = new Ownership({ db, clock, log, lease: 'worker', holder: name })
  const inHand: InHand = new Map()

  const identity = { id: newId(clock.now()), role: 'worker', name }
  const feed = await followConfig({ db, nats, log, processId: identity.id, signal }, (changes) =>
    refresh(lanes, log, changes),
  )
  void followWithdrawals(nats, identity.id, (withdrawal) => {
    const underWay = withdrawals.add(withdrawal)
    lanes.dropWithdrawn(withdrawal)
    return underWay
  })
  await reportProcess(db, identity, clock.now())
  const whileHeld = (ms: number, task: string, act: () => Promise<unknown>): Promise<void> =>
    every(ms, { signal, log, name: task }, async () => {
      if (ownership.isHeld) await act()
    })
  const takeDue = async (): Promise<void> => {
    for (let taken = DUE_BATCH; taken === DUE_BATCH && lanes.held + results.backlog() < HELD_MAX;) {
      const nowMs = clock.now()
      const claim = { nowMs, leaseUntilMs: nowMs + LEASE_MS, limit: DUE_BATCH, claimedBy: name }
      const claimed = await claimDue(pool, ALL_PARTITIONS, claim)
      for (const one of claimed) lanes.admit(workOfClaim(one, claim.leaseUntilMs))
      taken = claimed.length
    }
  }
  const nudges = nats.subscribe(WAITING_DUE, {
    callback: () => {
      if (ownership.isHeld) takeDue().catch((err: unknown) => log.warn({ err }, 'Cannot take due'))
    },
  })
  const tasks = [
    feed.done,
    every(PROCESS_LIVE_MS / 5, { signal, log, name: 'presence' }, () =>
      reportProcess(db, identity, clock.now()),
    ),
    whileHeld(DUE_POLL_MS, 'due', takeDue),
    whileHeld(PARKED_SCAN_MS, 'parked', async () => {
      for (const destinationId of await parkedLanes(pool)) await lanes.noteParked(destinationId)
    }),
    whileHeld(PACING_WRITE_MS, 'pacing', () => writePacing(db, pacer.takeChanged())),
    whileHeld(PACING_WRITE_MS / 10, 'stream', () =>
      consumeWhileHeld(deps, { lanes, results, ownership, inHand, signal }),
    ),
  ]
  return {
    async [Symbol.asyncDispose]() {
      nudges.unsubscribe()
      stop.abort()
      await Promise.all(tasks)
      await Promise.all([lanes.drain(DRAIN_MS), tester.drain(DRAIN_MS)])
      // Without PostgreSQL nothing more can be written: leases and due rows bring back what is left.
      await Promise.race([results.drain(), sleep(DRAIN_MS)])
      await giveBack(deps, pacer, identity.id).catch((err: unknown) =>
        log.warn({ err }, 'Cannot give back'),
      )
      lanes[Symbol.dispose]()
      await close()
      await ownership[Symbol.asyncDispose]()
    },
  }
}

async function giveBack(
  { pool, db, clock, name }: WorkerDeps,
  pacer: Pacer,
  processId: string,
): Promise<void> {
  await writePacing(db, pacer.takeChanged())
  await releaseClaims(pool, name, clock.now())
  await forgetProcess(db, processId)
}

function openLanes(deps: WorkerDeps, results: DeliverDeps['results']) {
  const { pool, db, clock, log, name, isAllowed } = deps
  const pacer = new Pacer()
  const dispatcher = openDispatcher(guardedLookup(isAllowed))
  const tokens = new AccessTokens({ dispatcher: dispatcher.agent, clock, isAllowed })
  const disable = async (destinationId: string): Promise<void> => {
    await disableDestination(db, destinationId, 'gone', clock.now())
    await announceChanges(deps, [{ kind: 'destination', id: destinationId }])
  }
  const lines = withoutRedaction(log)
  const withdrawals = new Withdrawals(clock)
  const deliverDeps: DeliverDeps = {
    pool,
    clock,
    log,
    lines,
    dispatcher,
    tokens,
    results,
    withdrawals,
    workerName: name,
    random: deps.random,
    disable: (destinationId) => {
      disable(destinationId).catch((err: unknown) => log.error({ err }, 'Cannot disable'))
    },
    count: (outcome, durationMs) => deps.metrics.attempts.observe({ outcome }, durationMs / 1_000),
  }
  const claim = async (destinationId: string, limit: number): Promise<Work[]> => {
    const nowMs = clock.now()
    const options = { nowMs, leaseUntilMs: nowMs + LEASE_MS, limit, claimedBy: name }
    const claimed = await claimParked(pool, destinationId, options)
    return claimed.map((one) => workOfClaim(one, options.leaseUntilMs))
  }
  const lanes = new Lanes({
    clock,
    log,
    pacer,
    destinations: new Destinations({ ...deps, pacer }),
    deliver: (work, destination) => deliver(deliverDeps, work, destination),
    withdrawals,
    park: async (rows) => {
      await Promise.all(rows.map((row) => results.park(row)))
    },
    cancel: async (work) => {
      await results.cancel(work)
      work.settle()
    },
    claimParked: claim,
  })
  const tester = startTester({ ...deps, lines, dispatcher, tokens })
  return { lanes, pacer, tester, withdrawals, close: () => dispatcher.agent.close() }
}

async function refresh(lanes: Lanes, log: Logger, changes: readonly ConfigChange[]): Promise<void> {
  try {
    if (changes.some((change) => change.kind === 'organisation')) await lanes.refreshAll()
    for (const { kind, id } of changes) if (kind === 'destination') await lanes.refresh(id)
  } catch (err) {
    log.warn({ err }, 'Cannot read changed destinations')
  }
}

/** Takes messages until the lease is lost or the worker stops. */
async function consumeWhileHeld(
  deps: WorkerDeps,
  running: {
    lanes: Lanes
    results: DeliverDeps['results']
    ownership: Ownership
    inHand: InHand
    signal: AbortSignal
  },
): Promise<void> {
  const { lanes, results, ownership, inHand, signal } = running
  const lost = new AbortController()
  const watch = setInterval(() => {
    if (!ownership.isHeld) lost.abort()
  }, 100)
  try {
    // The server may have come back without its store.
    await ensureDeliveryStream(deps.nats)
    await consumeDeliveries(
      {
        nats: deps.nats,
        clock: deps.clock,
        log: deps.log,
        results,
        inHand,
        held: () => lanes.held,
        admit: (work) => lanes.admit(work),
        readBody: (eventClass, eventId) => findEventBody(deps.db, eventClass, eventId),
      },
      AbortSignal.any([signal, lost.signal]),
    )
  } finally {
    clearInterval(watch)
  }
}
