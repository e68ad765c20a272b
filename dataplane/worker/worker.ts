import type { JetStreamManager } from '@nats-io/jetstream'

import type { Clock } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/connection/db.ts'
import type { Deleted } from '../../core/db/deliveries/act/cancellations.ts'
import type { Member } from '../../core/db/deliveries/work/partition-owners.ts'
import { findEventBody } from '../../core/db/events/event-bodies.ts'
import { Presence } from '../../core/db/processes/presence.ts'
import type { IsAllowed } from '../../core/egress/connect.ts'
import { newId } from '../../core/ids.ts'
import { deliveryManager } from '../../core/jetstream/delivery-stream.ts'
import { DELIVERY_TIMEOUT_MS_MAX } from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import type { NatsConnection } from '../../core/nats.ts'
import type { ConfigChange } from '../../core/notices/config-changes.ts'
import { followOnline } from '../../core/notices/connector-notices.ts'
import { WAITING_DUE } from '../../core/notices/notice-subjects.ts'
import { followWithdrawals } from '../../core/notices/withdrawals.ts'
import type { Plans } from '../../core/plans/plans.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import { within } from '../../core/within.ts'
import { followConfig } from '../config-feed.ts'
import { Bell, every, type Rest } from '../every.ts'
import { handOver, HAND_OVER_MS } from './hand-over.ts'
import { Allowances } from './in-flight/allowances.ts'
import { InFlight } from './in-flight/in-flight.ts'
import { openMemory, type Memory } from './in-flight/memory.ts'
import type { WorkerMetrics } from './in-flight/metrics.ts'
import { Withdrawals } from './in-flight/withdrawals.ts'
import type { Work } from './in-flight/work.ts'
import { Destinations } from './lanes/destinations.ts'
import { Lanes } from './lanes/lanes.ts'
import { openParkedRows, type ParkedRows } from './lanes/parked-rows.ts'
import { Holdings } from './own/holdings.ts'
import { Partitions } from './own/partitions.ts'
import { Pacer } from './pacing/pacer.ts'
import { pacingWriter } from './pacing/pacing-writer.ts'
import { BusyNotes } from './record/busy-notes.ts'
import { openResults, type Results } from './record/results.ts'
import { openSender, type Sender } from './send/sender.ts'
import { DueRows } from './take/due-rows.ts'
import { DueWatch } from './take/due-watch.ts'
import { StreamConsumer } from './take/stream-consumer.ts'

/** Parked rows of a lane that is not open: after a restart, or when a destination is enabled. */
const PARKED_SCAN_MS = 1_000
const PACING_WRITE_MS = 1_000
/** Until plans that could not be read are read again. */
const ORGANISATIONS_MS = 1_000

/** Which partitions are to be taken from, whether there is room again, and whether the stream forgot who asked. */
const STREAM_LOOK_MS = 100
/** The same while no delivery is in memory: there is room. */
const STREAM_IDLE_MS = 1_000

/** A worker that is told to stop hands over, and writes what it has, for this long. */
const STOP_MS = HAND_OVER_MS + 2_000
const DRAIN_MS = 2_500
/** Attempts that outlast the hand-over began before it, and so end within this. */
const ATTEMPTS_MS = DELIVERY_TIMEOUT_MS_MAX

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
  /** Attempts that may be under way at once. */
  socketsMax: number
  /** Compiled destinations that are kept; `DESTINATIONS_MAX` unless a test sets it. */
  destinationsMax?: number | undefined
  metrics: WorkerMetrics
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

export interface Worker extends AsyncDisposable {
  /** The partitions that it owns now. */
  partitions(): number[]
  /** Rejects while PostgreSQL does not commit. */
  checkDatabase(): Promise<void>
  /** Throws while it could own none. */
  checkReady(): void
}

/**
 * Sends deliveries: new ones from the stream, waiting ones from PostgreSQL, each through its destination's lane. The
 * workers that live share the partitions; what moves to another one is handed over.
 */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { db, nats, clock, log, name } = deps
  const stop = new AbortController()
  const { signal } = stop
  const identity = { id: newId(clock.now()), role: 'worker', name }
  const stations = openStations({ ...deps, manager: await deliveryManager(nats) })
  const { holdings, results, sender, lanes, streamConsumer, due, dueWatch } = stations
  const partitions = openPartitions(deps, stations, { name, processId: identity.id })
  const organisations = new Bell()
  const feed = await followConfig({ db, nats, log, processId: identity.id, signal }, (changes) =>
    refresh(lanes, organisations, changes),
  )
  followWithdrawn(nats, identity.id, stations)
  const presence = await Presence.begin({ db, log, identity })
  partitions.start()
  const nudges = nats.subscribe(WAITING_DUE, {
    callback: () => {
      due.take().catch((err: unknown) => log.warn({ err }, 'Cannot claim due deliveries'))
    },
  })
  const online = followOnline(nats, (connectorId) => lanes.noteOnline(connectorId))
  const repeat = (
    ms: number,
    task: string,
    act: () => Promise<Rest | void>,
    bell = new Bell(),
  ): Promise<void> => every(ms, { signal, log, name: task, bell }, act)
  const tasks = [
    feed.done,
    repeat(PARKED_SCAN_MS, 'parked', stations.findParked),
    repeat(ORGANISATIONS_MS, 'organisations', () => lanes.refreshOrganisations(), organisations),
    repeat(PACING_WRITE_MS, 'pacing', stations.writePacing),
    repeat(STREAM_LOOK_MS, 'stream', async () => {
      await streamConsumer.look(holdings.holds())
      const isIdle = lanes.inMemory + results.backlog() === 0
      return { restMs: isIdle ? STREAM_IDLE_MS : STREAM_LOOK_MS }
    }),
  ]
  return {
    partitions: () => holdings.holds().map(({ partition }) => partition),
    checkDatabase: async () => await presence.check(),
    checkReady() {
      if (!holdings.isCurrent) throw new Error('Cannot hold partitions')
    },
    async [Symbol.asyncDispose]() {
      nudges.unsubscribe()
      online[Symbol.dispose]()
      await Promise.all([partitions.stop(STOP_MS), sender.tester.drain(DRAIN_MS)])
      stop.abort()
      await Promise.all([...tasks, dueWatch[Symbol.asyncDispose]()])
      await within(DRAIN_MS, streamConsumer.stopAll(), () => undefined)
      lanes[Symbol.dispose]()
      await presence[Symbol.asyncDispose]()
      // First the attempts, since each of them has a result to write.
      await sender.close(ATTEMPTS_MS)
      // Without PostgreSQL nothing more can be written: leases and due rows bring back what is left.
      await results.close(DRAIN_MS)
    },
  }
}

/** All that a delivery passes, in the order in which each needs what stands before it. */
interface Stations {
  holdings: Holdings
  inFlight: InFlight
  results: Results
  sender: Sender
  withdrawals: Withdrawals
  lanes: Lanes
  streamConsumer: StreamConsumer
  due: DueRows
  dueWatch: DueWatch
  writePacing: () => Promise<void>
  findParked: () => Promise<void>
}

function openStations(deps: WorkerDeps & { manager: JetStreamManager }): Stations {
  const { clock, metrics } = deps
  const memory = openMemory()
  const holdings = new Holdings()
  const inFlight = new InFlight()
  metrics.watch({ ...memory, underWay: () => inFlight.underWay.size })
  const results = openResults({ ...deps, expectDue: (atMs) => dueWatch.expect(atMs) })
  const sender = openSender({ ...deps, results, inFlight })
  const pacer = new Pacer()
  const withdrawals = new Withdrawals(clock)
  const parkedRows = openParkedRows({ ...deps, memory, holdings })
  const lanes = openLanes(deps, {
    memory,
    holdings,
    inFlight,
    results,
    pacer,
    withdrawals,
    parkedRows,
    deliver: sender.deliver,
  })
  const streamConsumer = new StreamConsumer({
    ...deps,
    holdings,
    inFlight,
    results,
    lanes,
    memory: memory.work,
  })
  lanes.onRoom((partition) => streamConsumer.madeRoom(partition))
  const due = new DueRows({ ...deps, holdings, inFlight, results, lanes, memory })
  const dueWatch = new DueWatch({ ...deps, due })
  return {
    holdings,
    inFlight,
    results,
    sender,
    withdrawals,
    lanes,
    streamConsumer,
    due,
    dueWatch,
    writePacing: pacingWriter(deps.db, pacer),
    findParked: async () => await lanes.noteParked(await parkedRows.find()),
  }
}

function openLanes(
  deps: WorkerDeps,
  passed: Pick<Stations, 'holdings' | 'inFlight' | 'results' | 'withdrawals'> & {
    memory: Memory
    pacer: Pacer
    parkedRows: ParkedRows
    deliver: Sender['deliver']
  },
): Lanes {
  const { pool, clock, log } = deps
  const { memory, holdings, inFlight, results, pacer, withdrawals, parkedRows } = passed
  const destinations = new Destinations({ ...deps, pacer })
  const busyNotes = new BusyNotes(deps)
  return new Lanes({
    clock,
    log,
    inFlight,
    pacer,
    withdrawals,
    destinations,
    deliver: passed.deliver,
    noteBusy: (id, window) => busyNotes.note(id, window),
    notePaced: (deliveries) => {
      deps.metrics.throttled.rate_limit += deliveries
    },
    allowances: new Allowances(deps.socketsMax),
    largeBodies: memory.largeBodies,
    largeBodiesOf: (organisationId) => memory.largeBodiesOf(organisationId),
    readBody: async ({ retentionClass, eventId }) =>
      eventId === null ? undefined : await findEventBody(pool, retentionClass, eventId),
    standingOf: (hold) => holdings.standingOf(hold),
    park: async (rows) => {
      await Promise.all(rows.map((row) => results.park(row)))
    },
    cancel: async (work) => {
      const because = await deletedOf(work, { withdrawals, destinations })
      await results.cancel({ ...work, because })
      inFlight.settle(work)
    },
    claimParked: parkedRows.claimParked,
    moveParked: parkedRows.moveParked,
  })
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

/** The loop that takes partitions and gives them up, on behalf of all stations. */
function openPartitions(deps: WorkerDeps, stations: Stations, member: Member): Partitions {
  const { holdings, lanes, streamConsumer, dueWatch, findParked } = stations
  return new Partitions(
    { ...deps, member, holdings },
    {
      took: () => {
        dueWatch.look()
        const looks = [streamConsumer.look(holdings.holds()), findParked()]
        Promise.all(looks).catch((err: unknown) =>
          deps.log.warn({ err }, 'Cannot take partitions over'),
        )
      },
      handOver: async (holds) => await handOver({ ...deps, ...stations }, holds),
      lost: (gone) => lanes.close(gone),
    },
  )
}

/** Drops what is withdrawn and not being sent, and says what is. */
function followWithdrawn(
  nats: NatsConnection,
  processId: string,
  { withdrawals, lanes, inFlight }: Stations,
): void {
  void followWithdrawals(nats, processId, (withdrawal) => {
    withdrawals.add(withdrawal)
    lanes.dropWithdrawn(withdrawal)
    const underWay = new Set([...inFlight.underWay].map(({ deliveryId }) => deliveryId))
    return withdrawal.deliveries.map(({ id }) => id).filter((id) => underWay.has(id))
  })
}

/** Rejects while PostgreSQL is away: then the poll of the feed gives the changes again. */
async function refresh(
  lanes: Lanes,
  organisations: Bell,
  changes: readonly ConfigChange[],
): Promise<void> {
  for (const { kind, id } of changes) {
    if (kind === 'destination') await lanes.refresh(id)
    if (kind === 'organisation') {
      lanes.noteOrganisation(id)
      organisations.ring()
    }
  }
}
