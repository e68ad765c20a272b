import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'vitest'

import { DELIVERY_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { until } from '../faults/until.ts'
import type { Installation } from './installation.ts'
import type { PostgresNode } from './postgres-node.ts'
import { CONCURRENCY, PACE, type Measured } from './traffic.ts'

/** Requirements hold on a machine that has time; a busy one takes so much longer. */
const LATE_MS = { answers: 2_500, deliveries: 10_000, checks: 5_000 }
/** Arrivals within a second beyond the rate: those of timers of a busy machine that are late. */
const LATE_ARRIVALS = 4
/** Ingest answers after 6 s at most: senders hang up after 10 s. */
const ANSWERED_MS = 6_000
const MOVED_MS = 5_000
/** The first batch that PostgreSQL does not commit waits 6 s; from then on events are spooled. */
const SPOOLED_MS = 6_500
/** Transactions that began before a server became read-only end meanwhile. */
const UNDER_WAY_MS = 500
const FROZEN_MS = 4_000
const KILLED_MS = 3_000
const STANDBYS_AWAY_MS = 13_000
const STANDBY_AWAY_MS = 6_000
/** A database of another region: each way takes so long, a commit twice that. */
const FAR_MS = 50
const FAR_FOR_MS = 5_000
/** Nothing stands still. */
const UNSEEN_MS = 1_000
const NATS_AWAY_MS = 10_000
const FOLLOWER_AWAY_MS = 5_000
const UNREADY_MS = 5_000
/** A silent server is found after 3 s and a look a second later. */
const FOUND_MS = 5_000
/** Deliveries stand for so long after the promotion of a standby, where the former primary is silent. */
const STOOD_MS = 10_000
/** Deliveries that were not published go out by the sweep, which finds them after 20 s. */
const SWEPT_MS = 25_000
/** The sweep finds it, and again if it published it while NATS was away. */
const ARRIVED_MS = 40_000
/** Lines of the log at the beginning and at the end of an outage. */
const WAITING = 'PostgreSQL accepts and does not commit: are its synchronous standbys there?'
const COMMITTING = 'PostgreSQL commits again'
/** To both processes of the API, on several of its connections. */
const WRITES = 10

/** Bounds of a scenario on a machine that has time, in milliseconds. */
interface Required {
  /** Without a 200. */
  without200Ms: number
  /** Without an arrival, at each destination. */
  stoodMs: number
  /** Workers that end or lose their partitions: each repeats what it had under way. */
  workers: number
  /** NATS servers that end: private deliveries under way through their sessions are repeated. */
  natsServers?: number
  /** Every request is answered with a 200, late as it may be. */
  isAccepted?: true
}

export interface Scenario {
  /** At most 40 characters: Vitest cuts longer ones. */
  name: string
  /** Resolves when the fault is over. */
  strike: (installation: Installation) => Promise<void>
  required: Required
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'primary demoted, connections open',
    strike: demote,
    required: { without200Ms: MOVED_MS, stoodMs: MOVED_MS, workers: 0 },
  },
  {
    name: 'primary frozen, promotion at 4 s',
    strike: freeze,
    required: { without200Ms: FROZEN_MS + 3_000, stoodMs: FROZEN_MS + STOOD_MS, workers: 2 },
  },
  {
    name: 'primary isolated, connections open',
    strike: isolate,
    required: { without200Ms: FOUND_MS, stoodMs: STOOD_MS, workers: 2 },
  },
  {
    name: 'both standbys away for 13 s',
    strike: loseStandbys,
    required: {
      without200Ms: STANDBYS_AWAY_MS + MOVED_MS,
      stoodMs: STANDBYS_AWAY_MS + STOOD_MS,
      workers: 2,
    },
  },
  {
    name: 'one of two standbys away for 6 s',
    strike: loseStandby,
    required: { without200Ms: UNSEEN_MS, stoodMs: UNSEEN_MS, workers: 0, isAccepted: true },
  },
  {
    name: 'PostgreSQL 50 ms away',
    strike: moveAway,
    required: { without200Ms: UNSEEN_MS, stoodMs: UNSEEN_MS, workers: 0, isAccepted: true },
  },
  {
    name: 'primary killed, promotion at 3 s',
    strike: killPrimary,
    required: { without200Ms: MOVED_MS, stoodMs: STOOD_MS, workers: 0 },
  },
  {
    name: 'NATS leader killed',
    strike: killLeader,
    required: {
      without200Ms: UNSEEN_MS,
      stoodMs: STOOD_MS,
      workers: 0,
      natsServers: 1,
      isAccepted: true,
    },
  },
  {
    name: 'NATS follower killed and wiped',
    strike: wipeFollower,
    required: {
      without200Ms: UNSEEN_MS,
      stoodMs: STOOD_MS,
      workers: 0,
      natsServers: 1,
      isAccepted: true,
    },
  },
  {
    name: 'two of three NATS servers away for 10 s',
    strike: loseQuorum,
    required: {
      without200Ms: UNSEEN_MS,
      stoodMs: SWEPT_MS,
      workers: 0,
      natsServers: 2,
      isAccepted: true,
    },
  },
  {
    name: 'NATS wiped, all three',
    strike: wipeNats,
    required: {
      without200Ms: UNSEEN_MS,
      stoodMs: SWEPT_MS,
      workers: 0,
      natsServers: 3,
      isAccepted: true,
    },
  },
  {
    name: 'machine gone: primary, NATS, each role',
    strike: loseMachine,
    required: { without200Ms: MOVED_MS, stoodMs: SWEPT_MS, workers: 2 },
  },
  {
    name: 'rolling restart of all roles',
    strike: roll,
    required: { without200Ms: UNSEEN_MS, stoodMs: MOVED_MS, workers: 0 },
  },
  {
    name: 'spool: both standbys away for 13 s',
    strike: loseStandbysSpooling,
    required: {
      without200Ms: SPOOLED_MS,
      stoodMs: STANDBYS_AWAY_MS + STOOD_MS,
      workers: 2,
      isAccepted: true,
    },
  },
  {
    name: 'spool: primary killed, promotion at 3 s',
    strike: killPrimary,
    required: { without200Ms: UNSEEN_MS, stoodMs: STOOD_MS, workers: 0, isAccepted: true },
  },
  {
    name: 'spool: primary frozen, promotion at 4 s',
    strike: freeze,
    required: {
      without200Ms: SPOOLED_MS,
      stoodMs: FROZEN_MS + STOOD_MS,
      workers: 2,
      isAccepted: true,
    },
  },
  {
    name: 'spool: primary isolated',
    strike: isolate,
    required: { without200Ms: FOUND_MS, stoodMs: STOOD_MS, workers: 2, isAccepted: true },
  },
  {
    name: 'spool: machine gone',
    strike: loseMachine,
    required: { without200Ms: SPOOLED_MS, stoodMs: SWEPT_MS, workers: 2 },
  },
]

export function expectWithin({ name, required }: Scenario, measured: Measured): void {
  expect(measured.lost, name).toBe(0)
  if (required.isAccepted === true) expect(measured.accepted).toBe(measured.sent)
  expect(measured.inASecond).toBeLessThanOrEqual(PACE + LATE_ARRIVALS)
  expect(measured.slowestMs).toBeLessThanOrEqual(ANSWERED_MS + LATE_MS.answers)
  expect(measured.without200Ms).toBeLessThanOrEqual(required.without200Ms + LATE_MS.answers)
  expect(measured.arrivedMs).toBeLessThanOrEqual(ARRIVED_MS + LATE_MS.deliveries)
  for (const kind of ['public', 'paced', 'private'] as const) {
    expect(measured.stoodMs[kind], kind).toBeLessThanOrEqual(required.stoodMs + LATE_MS.deliveries)
    expect(measured.atOnce[kind], kind).toBeLessThanOrEqual(CONCURRENCY[kind])
    const sessions = kind === 'private' ? (required.natsServers ?? 0) : 0
    const duplicatesMax = (required.workers + sessions) * CONCURRENCY[kind]
    expect(measured.duplicates[kind], kind).toBeLessThanOrEqual(duplicatesMax)
  }
}

/** The primary takes no more writes, is followed to its end, and stays up with all its connections. */
async function demote(installation: Installation): Promise<void> {
  const { postgres } = installation
  const former = postgres.primary
  former.refuseWrites()
  await sleep(UNDER_WAY_MS)
  await promote(installation)
  await expectLeft(installation, former, MOVED_MS)
  await expectReady(installation, MOVED_MS)
  for (let write = 0; write < WRITES; write++) {
    await installation.api('POST', '/v1/sources', { name: `after a demotion ${write}` })
  }
  const lapsed = await installation.query(
    `select name from lease where held_until > 'epoch' and held_until < clock_timestamp()`,
  )
  expect(lapsed).toEqual([])
  await expectLeft(installation, former, 0)
}

async function freeze(installation: Installation): Promise<void> {
  const former = installation.postgres.primary
  former.freeze()
  await sleep(FROZEN_MS)
  await promote(installation)
  await expectLeft(installation, former, STOOD_MS)
  await expectReady(installation, MOVED_MS)
}

/** Nothing follows it: its commits wait for a standby. */
async function isolate(installation: Installation): Promise<void> {
  const former = installation.postgres.primary
  await promote(installation)
  await expectLeft(installation, former, STOOD_MS)
  await expectReady(installation, MOVED_MS)
}

async function loseStandbys(installation: Installation): Promise<void> {
  const ingest = installation.of('ingest')
  await withoutStandbys(installation, async () => {
    const areUnready = async (): Promise<boolean> => {
      const ready = await Promise.all(ingest.map(async (one) => await one.isReady()))
      return !ready.some(Boolean)
    }
    await until('no ingest is ready', areUnready, UNREADY_MS + LATE_MS.checks)
  })
  await expectReady(installation, MOVED_MS)
  for (const one of ingest) expect(one.logged(WAITING)).toBe(1)
  const isOver = (): boolean =>
    installation.processes().every((one) => one.logged(COMMITTING) === one.logged(WAITING))
  await until('every process finds that commits go on', isOver, MOVED_MS + LATE_MS.checks)
  for (const one of installation.processes()) expect(one.logged(WAITING)).toBeLessThanOrEqual(1)
}

async function loseStandbysSpooling(installation: Installation): Promise<void> {
  await withoutStandbys(installation, async () => {})
  await expectReady(installation, MOVED_MS)
  const ingest = installation.of('ingest')
  const isBack = (): boolean =>
    ingest.every((one) => one.logged('PostgreSQL is back: storing spooled events') > 0)
  await until('the outage ends', isBack, MOVED_MS + LATE_MS.checks)
  for (const one of ingest) {
    expect(one.logged('PostgreSQL is away: spooling events')).toBe(1)
    expect(one.logged('PostgreSQL is back: storing spooled events')).toBe(1)
  }
}

async function withoutStandbys(
  { postgres: { standbys } }: Installation,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const awayUntil = performance.now() + STANDBYS_AWAY_MS
  await Promise.all(standbys.map(async (standby) => await standby.kill()))
  await meanwhile()
  await sleep(awayUntil - performance.now())
  await Promise.all(standbys.map(async (standby) => await standby.start()))
}

async function loseStandby({ postgres: { standbys } }: Installation): Promise<void> {
  const [standby] = standbys
  await standby?.kill()
  await sleep(STANDBY_AWAY_MS)
  await standby?.start()
}

async function moveAway({ link }: Installation): Promise<void> {
  link.delay(FAR_MS)
  await sleep(FAR_FOR_MS)
  link.delay(0)
}

async function killPrimary(installation: Installation): Promise<void> {
  await installation.postgres.primary.kill()
  await sleep(KILLED_MS)
  await promote(installation)
  await expectReady(installation, MOVED_MS)
}

async function killLeader(installation: Installation): Promise<void> {
  const leader = await installation.leaderOf(DELIVERY_STREAM)
  const node = installation.nats.nodes.find(({ name }) => name === leader)
  process.kill(node?.pid() ?? 0, 'SIGKILL')
  await sleep(NATS_AWAY_MS)
  await node?.start()
}

async function wipeFollower(installation: Installation): Promise<void> {
  const leader = await installation.leaderOf(DELIVERY_STREAM)
  const node = installation.nats.nodes.find(({ name }) => name !== leader)
  process.kill(node?.pid() ?? 0, 'SIGKILL')
  await sleep(FOLLOWER_AWAY_MS)
  node?.wipe()
  await node?.start()
}

async function loseQuorum({ nats: { nodes } }: Installation): Promise<void> {
  const lost = nodes.slice(1)
  for (const node of lost) process.kill(node.pid(), 'SIGKILL')
  await sleep(NATS_AWAY_MS)
  for (const node of lost) await node.start()
}

async function wipeNats({ nats: { nodes } }: Installation): Promise<void> {
  for (const node of nodes) process.kill(node.pid(), 'SIGKILL')
  await sleep(NATS_AWAY_MS)
  for (const node of nodes) {
    node.wipe()
    await node.start()
  }
}

async function loseMachine(installation: Installation): Promise<void> {
  const [node] = installation.nats.nodes
  process.kill(node?.pid() ?? 0, 'SIGKILL')
  await Promise.all([installation.postgres.primary.kill(), installation.killOneOfEach()])
  await sleep(KILLED_MS)
  await promote(installation)
  await expectReady(installation, MOVED_MS)
  await node?.start()
  await installation.fill()
}

/** The new processes have a spool. */
async function roll(installation: Installation): Promise<void> {
  await installation.replaceAll({ SPOOL_REPLICAS: '3' })
}

async function promote({ postgres, link }: Installation): Promise<void> {
  await postgres.promote()
  link.lead(postgres.url)
}

/** No connection leads to the former primary any more, after `withinMs`. */
async function expectLeft(
  { link, postgres }: Installation,
  former: PostgresNode,
  withinMs: number,
): Promise<void> {
  const isLeft = (): boolean => link.connectionsTo(postgres.urlOf(former)) === 0
  await until('every process leaves the former primary', isLeft, withinMs + LATE_MS.checks)
}

async function expectReady(installation: Installation, withinMs: number): Promise<void> {
  const areReady = async (): Promise<boolean> => {
    const ready = await Promise.all(
      installation.processes().map(async (one) => await one.isReady()),
    )
    return ready.every(Boolean)
  }
  await until('every role is ready', areReady, withinMs + LATE_MS.checks)
}
