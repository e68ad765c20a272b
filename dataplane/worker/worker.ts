import type { JetStreamManager } from '@nats-io/jetstream'

import type { Clock } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/db.ts'
import type { Deleted } from '../../core/db/deliveries/cancellations.ts'
import { claimParked } from '../../core/db/deliveries/claims.ts'
import { disableDestination, writePacing } from '../../core/db/deliveries/delivery-destinations.ts'
import { moveParked, parkedLanes } from '../../core/db/deliveries/parked-lanes.ts'
import type { Member } from '../../core/db/deliveries/partition-owners.ts'
import { findEventBody } from '../../core/db/events/event-bodies.ts'
import { forgetProcess, PROCESS_LIVE_MS, reportProcess } from '../../core/db/processes/processes.ts'
import { Connections } from '../../core/delivery/direct/connections.ts'
import { directTransport } from '../../core/delivery/direct/exchange.ts'
import { guardedLookup, type IsAllowed } from '../../core/egress/connect.ts'
import { Names } from '../../core/egress/names.ts'
import { newId } from '../../core/ids.ts'
import { LEASE_MS } from '../../core/limits.ts'
import { withoutRedaction, type Logger } from '../../core/log.ts'
import type { Plans } from '../../core/plans/plans.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import { announceChanges, type ConfigChange } from '../../core/stream/config-changes.ts'
import { deliveryManager } from '../../core/stream/delivery-stream.ts'
import type { NatsConnection } from '../../core/stream/nats.ts'
import { WAITING_DUE } from '../../core/stream/subjects.ts'
import { followWithdrawals } from '../../core/stream/withdrawals.ts'
import { within } from '../../core/within.ts'
import { followConfig } from '../config-feed.ts'
import { every } from '../every.ts'
import { AccessTokens } from './access-tokens.ts'
import type { LaneKey } from './backlog.ts'
import { BusyNotes } from './busy-notes.ts'
import { Consumption } from './consume.ts'
import { deliver, type DeliverDeps } from './deliver.ts'
import { Destinations } from './destinations.ts'
import { DueRows } from './due-rows.ts'
import { handOver, HAND_OVER_MS } from './hand-over.ts'
import { Hands } from './hands.ts'
import type { LaneDeps } from './lane.ts'
import { Lanes } from './lanes.ts'
import { openMemory, roomForClaim, type Memory } from './memory.ts'
import type { WorkerMetrics } from './metrics.ts'
import { Pacer } from './pacer.ts'
import { Partitions } from './partitions.ts'
import { openReach } from './reach.ts'
import { openResults } from './results.ts'
import { startTester } from './test-delivery.ts'
import { Withdrawals } from './withdrawals.ts'
import { workOfClaim, type Work } from './work.ts'

/** How late a retry may be for want of a look. */
const DUE_POLL_MS = 100

/** Parked rows of a lane that is not open: after a restart, or when a destination is enabled. */
const PARKED_SCAN_MS = 1_000
const PACING_WRITE_MS = 1_000

/** Which partitions are to be taken from, and whether the stream forgot who asked. */
const STREAM_LOOK_MS = 100

/** A worker that is told to stop hands over, and writes what it has, for this long. */
const STOP_MS = HAND_OVER_MS + 2_000
const DRAIN_MS = 2_500

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

export interface Worker extends AsyncDisposable {
  /** The partitions that it owns now. */
  partitions(): number[]
  /** Throws while it could own none. */
  checkReady(): void
}

/**
 * Sends deliveries: new ones from the stream, waiting ones from PostgreSQL, each through its destination's lane. The
 * workers that live share the partitions; what moves to another one is handed over.
 */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { pool, db, nats, clock, log, name } = deps
  const stop = new AbortController()
  const { signal } = stop
  const identity = { id: newId(clock.now()), role: 'worker', name }
  const results = openResults({ pool, clock, log })
  const { running, partitions, consumption, due, writePace, findParked } = openPartitions(
    { ...deps, manager: await deliveryManager(nats) },
    results,
    { name, processId: identity.id },
  )
  const { lanes, hands, tester, withdrawals } = running
  const feed = await followConfig({ db, nats, log, processId: identity.id, signal }, (changes) =>
    refresh(lanes, log, changes),
  )
  void followWithdrawals(nats, identity.id, (withdrawal) => {
    withdrawals.add(withdrawal)
    lanes.dropWithdrawn(withdrawal)
    const underWay = new Set([...hands.underWay].map(({ deliveryId }) => deliveryId))
    return withdrawal.deliveries.map(({ id }) => id).filter((id) => underWay.has(id))
  })
  await reportProcess(db, identity)
  partitions.start()
  const nudges = nats.subscribe(WAITING_DUE, {
    callback: () => {
      due.take().catch((err: unknown) => log.warn({ err }, 'Cannot take due'))
    },
  })
  const repeat = (ms: number, task: string, act: () => Promise<void>): Promise<void> =>
    every(ms, { signal, log, name: task }, act)
  const tasks = [
    feed.done,
    repeat(PROCESS_LIVE_MS / 5, 'presence', () => reportProcess(db, identity)),
    repeat(DUE_POLL_MS, 'due', () => due.take()),
    repeat(PARKED_SCAN_MS, 'parked', findParked),
    repeat(PACING_WRITE_MS, 'pacing', writePace),
    repeat(STREAM_LOOK_MS, 'stream', () => consumption.look(partitions.holds())),
  ]
  return {
    partitions: () => partitions.holds().map(({ partition }) => partition),
    checkReady() {
      if (!partitions.isCurrent) throw new Error('Cannot hold partitions')
    },
    async [Symbol.asyncDispose]() {
      nudges.unsubscribe()
      await Promise.all([partitions.stop(STOP_MS), tester.drain(DRAIN_MS)])
      stop.abort()
      await Promise.all(tasks)
      await within(DRAIN_MS, consumption.stopAll(), () => undefined)
      // Without PostgreSQL nothing more can be written: leases and due rows bring back what is left.
      await within(DRAIN_MS, results.drain(), () => undefined)
      lanes[Symbol.dispose]()
      await forgetProcess(db, identity.id).catch((err: unknown) =>
        log.warn({ err }, 'Cannot take leave'),
      )
      await running.close()
    },
  }
}

/** All that is done for the partitions, from when one is taken until it is handed over. */
function openPartitions(
  deps: WorkerDeps & { manager: JetStreamManager },
  results: DeliverDeps['results'],
  member: Member,
) {
  const { pool, db, nats, clock, log, metrics } = deps
  const memory = openMemory()
  metrics.watch(memory)
  const running = openLanes({ ...deps, memory }, results, {
    standingOf: (hold) => partitions.standingOf(hold),
    holdOf: (partition) => partitions.holdOf(partition),
    madeRoom: (partition) => consumption.madeRoom(partition),
  })
  const { lanes } = running
  const consumption: Consumption = new Consumption({
    nats,
    manager: deps.manager,
    clock,
    log,
    results,
    memory: memory.work,
    hands: running.hands,
    held: () => lanes.held,
    hasRoom: (partition) => lanes.hasRoom(partition),
    holdOf: (partition) => partitions.takenHoldOf(partition),
    admit: (work) => lanes.admit(work),
  })
  const due = new DueRows({
    ...deps,
    lanes,
    results,
    memory,
    hands: running.hands,
    holds: () => partitions.holds(),
  })
  const findParked = async (): Promise<void> => {
    const owned = partitions.holds().map(({ partition }) => partition)
    if (owned.length === 0) return
    for (const lane of await parkedLanes(pool, owned)) await lanes.noteParked(lane)
  }
  const writePace = pacingWriter(db, running.pacer)
  const handOverDeps = {
    pool,
    clock,
    name: member.name,
    lanes,
    consumption,
    due,
    hands: running.hands,
    writePacing: writePace,
  }
  const partitions: Partitions = new Partitions(
    { pool, db, nats, log, metrics, member },
    {
      took: () => {
        const looks = [consumption.look(partitions.holds()), due.take(), findParked()]
        Promise.all(looks).catch((err: unknown) => log.warn({ err }, 'Cannot take over'))
      },
      handOver: async (holds) => await handOver(handOverDeps, holds),
      lost: (gone) => lanes.close(gone),
    },
  )
  return { running, partitions, consumption, due, writePace, findParked }
}

/** Writes what changed, one write after the other: who waits for it knows that all before it is written. */
function pacingWriter(db: Db, pacer: Pacer): () => Promise<void> {
  let writing = Promise.resolve()
  const write = async (): Promise<void> => {
    const changed = pacer.takeChanged()
    try {
      await writePacing(db, changed)
    } catch (error) {
      pacer.putBack(changed)
      throw error
    }
  }
  return async () => {
    writing = writing.then(write, write)
    await writing
  }
}

function openLanes(
  deps: WorkerDeps & { memory: Memory },
  results: DeliverDeps['results'],
  owned: Pick<Partitions, 'standingOf' | 'holdOf'> & Pick<LaneDeps, 'madeRoom'>,
) {
  const { pool, db, clock, log, name, isAllowed, memory } = deps
  const pacer = new Pacer()
  const names = new Names()
  const connections = new Connections(guardedLookup(isAllowed, names))
  const direct = directTransport(connections)
  const tokens = new AccessTokens({ send: direct, clock, isAllowed })
  const reach = openReach(direct)
  const disable = async (destinationId: string): Promise<void> => {
    await disableDestination(db, destinationId, 'gone', clock.now())
    await announceChanges(deps, [{ kind: 'destination', id: destinationId }])
  }
  const lines = withoutRedaction(log)
  const withdrawals = new Withdrawals(clock)
  const hands = new Hands()
  const busyNotes = new BusyNotes(deps)
  const deliverDeps: DeliverDeps = {
    pool,
    clock,
    log,
    lines,
    reach,
    tokens,
    results,
    hands,
    workerName: name,
    random: deps.random,
    disable: (destinationId) => {
      disable(destinationId).catch((err: unknown) => log.error({ err }, 'Cannot disable'))
    },
    count: (outcome, durationMs) => deps.metrics.attempts[outcome].observe(durationMs / 1_000),
  }
  const move = async (lane: LaneKey, from: number): Promise<void> => {
    for (let hasMore = true; hasMore;) {
      const hold = owned.holdOf(from)
      hasMore = hold !== undefined && (await moveParked(pool, lane, hold))
    }
  }
  const destinations = new Destinations({ ...deps, pacer })
  const lanes = new Lanes({
    clock,
    log,
    pacer,
    destinations,
    deliver: (work, to) => deliver(deliverDeps, work, to),
    noteBusy: (id, window) => busyNotes.note(id, window),
    largeBodies: memory.largeBodies,
    largeBodiesOf: (id) => memory.largeBodiesOf(id),
    readBody: async ({ class: eventClass, eventId }) =>
      eventId === null ? undefined : await findEventBody(pool, eventClass, eventId),
    withdrawals,
    hands,
    standingOf: owned.standingOf,
    park: async (rows) => {
      await Promise.all(rows.map((row) => results.park(row)))
    },
    cancel: async (work) => {
      const because = await deletedOf(work, { withdrawals, destinations })
      await results.cancel({ ...work, because })
      hands.settle(work)
    },
    claimParked: parkedClaimer(deps, owned),
    moveParked: move,
    madeRoom: owned.madeRoom,
  })
  const tester = startTester({ ...deps, lines, reach, tokens, names })
  return { lanes, hands, pacer, tester, withdrawals, close: () => connections.close() }
}

/** Which of its ends is gone. */
async function deletedOf(
  { destinationId }: Work,
  { withdrawals, destinations }: { withdrawals: Withdrawals; destinations: Destinations },
): Promise<Deleted> {
  if (withdrawals.isDeleted(destinationId)) return 'destination_deleted'
  const found = await destinations.get(destinationId).catch(() => null)
  return found === undefined ? 'destination_deleted' : 'connection_deleted'
}

/** Claims for a lane, in turn with the other lanes. */
function parkedClaimer(
  { pool, clock, name, memory }: WorkerDeps & { memory: Memory },
  owned: Pick<Partitions, 'holdOf'>,
): LaneDeps['claimParked'] {
  return async ({ destinationId, partition }, limit, byHandOnly) => {
    const room = await roomForClaim(memory)
    try {
      const hold = owned.holdOf(partition)
      if (hold === undefined) return { works: [], isAll: true }
      const askedAt = performance.now()
      const nowMs = clock.now()
      const leaseUntilMs = nowMs + LEASE_MS
      const claim = { nowMs, leaseUntilMs, limit, claimedBy: name }
      const { deliveries, isAll } = await claimParked(
        pool,
        { destinationId, hold, byHandOnly },
        claim,
      )
      const works = deliveries.map((one) =>
        workOfClaim(one, { hold, leaseUntilMs, askedAt }, memory.work.hold(one.bytes)),
      )
      return { works, isAll }
    } finally {
      room.give()
    }
  }
}

async function refresh(lanes: Lanes, log: Logger, changes: readonly ConfigChange[]): Promise<void> {
  try {
    if (changes.some((change) => change.kind === 'organisation')) await lanes.refreshAll()
    for (const { kind, id } of changes) if (kind === 'destination') await lanes.refresh(id)
  } catch (err) {
    log.warn({ err }, 'Cannot read changed destinations')
  }
}
