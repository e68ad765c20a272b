import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { DELIVERY_STREAM, SPOOL_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { startNatsCluster, type NatsCluster } from '../kit/nats-cluster.ts'
import { scratch, startTestPostgres } from '../kit/servers.ts'
import { startLoad } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { missing, openRoute } from './route.ts'
import { accountOf, printAccount } from './tally.ts'
import { until } from './until.ts'

const PER_SECOND = 40
const BEFORE = 2 * PER_SECOND
const AWAY = 12 * PER_SECOND
/** Sent until a cluster has another leader, with room to spare: it takes some 5 s. */
const ELECTION = 20 * PER_SECOND
const READY_MS = 60_000
const BACK_MS = 60_000
const REPLICAS = 3
/** No request repeats another: that it does is what a second try of the same one could look like. */
const KEYED = { idempotencyKeys: ['body.number'] }

/** Three servers that hold the spool together, as an installation has it, and a PostgreSQL that is stopped. */
const stack = new AsyncDisposableStack()
let servers = ''
let cluster: NatsCluster
let manager: JetStreamManager
let relay: Relay
beforeAll(async () => {
  servers = stack.use(scratch()).path
  const postgres = await startTestPostgres(servers)
  stack.defer(async () => await (await startTestPostgres(servers)).stop())
  cluster = stack.use(await startNatsCluster(servers, REPLICAS))
  const [first] = cluster.nodes
  const nats = await connect({
    servers: cluster.nodes.map(({ url }) => url),
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
  })
  stack.defer(async () => await nats.close())
  manager = await jetstreamManager(nats, { checkAPI: false })
  await until(
    'the cluster works',
    async () => (await manager.getAccountInfo()).streams === 0,
    READY_MS,
  )
  const env = {
    DATABASE_URL: postgres.url,
    NATS_URL: first?.url ?? '',
    SPOOL_REPLICAS: String(REPLICAS),
  }
  relay = stack.use(await startRelay(env))
}, 180_000)
afterAll(async () => await stack.disposeAsync())

test('without PostgreSQL a spool of three copies outlives the server that leads it, and loses nothing', async () => {
  await using route = await openRoute(relay, 'spooled thrice', { source: KEYED })
  await copied(SPOOL_STREAM)
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(BEFORE)
  await (await startTestPostgres(servers)).stop()
  await load.reached(BEFORE + AWAY / 4)
  const leader = await killLeaderOf(SPOOL_STREAM)
  await load.reached(BEFORE + AWAY)
  const sent = await load.stop()
  await startTestPostgres(servers)
  await leader?.start()
  const numbers = new Set(sent.map(({ number }) => number))
  const { arrivals } = route.destination
  const areAll = (): boolean => numbers.isSubsetOf(new Set(arrivals.keys()))
  await until('all arrive', areAll, BACK_MS).catch(() => {})
  printAccount('the leader of the spool killed', accountOf(sent, arrivals))
  const slowestMs = Math.max(...sent.map((one) => one.answeredAtMs - one.sentAtMs))
  process.stdout.write(`the slowest answer came after ${Math.round(slowestMs)} ms\n`)
  expect(sent.filter(({ answer }) => answer.kind !== 'accepted')).toEqual([])
  expect(areAll()).toBe(true)
  expect([...arrivals.values()].filter((same) => same.length > 1)).toEqual([])
  expect(await missing(relay, sent)).toEqual([])
}, 180_000)

test('the stream of deliveries has three copies, and goes on without the server that leads it', async () => {
  await using route = await openRoute(relay, 'delivered thrice', { source: KEYED })
  await copied(DELIVERY_STREAM)
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(BEFORE)
  const leader = await killLeaderOf(DELIVERY_STREAM)
  await load.reached(BEFORE + ELECTION + PER_SECOND)
  const sent = await load.stop()
  const { arrivals } = route.destination
  await leader?.start()
  await until(
    'all arrive',
    () => new Set(sent.map(({ number }) => number)).isSubsetOf(new Set(arrivals.keys())),
    BACK_MS,
  )
  // A delivery that the stream does not take goes out by way of PostgreSQL, at least 20 s later.
  const ways = sent
    .slice(-PER_SECOND)
    .map(({ number, sentAtMs }) => (arrivals.get(number)?.[0]?.atMs ?? Infinity) - sentAtMs)
  expect(Math.max(...ways)).toBeLessThan(5_000)
  expect(sent.filter(({ answer }) => answer.kind !== 'accepted')).toEqual([])
  expect(await missing(relay, sent)).toEqual([])
}, 180_000)

/** Resolves when each copy of a stream is complete. */
async function copied(stream: string): Promise<void> {
  const isCopied = async (): Promise<boolean> => {
    const { cluster: group } = await manager.streams.info(stream)
    return (group?.replicas ?? []).filter(({ current }) => current).length === REPLICAS - 1
  }
  await until(`the stream ${stream} has its copies`, isCopied, READY_MS)
}

/** Kills the server that leads a stream, and returns it to be started again. */
async function killLeaderOf(stream: string): Promise<NatsCluster['nodes'][number] | undefined> {
  const { cluster: group } = await manager.streams.info(stream)
  const leader = cluster.nodes.find(({ name }) => name === group?.leader)
  process.kill(leader?.pid() ?? 0, 'SIGKILL')
  return leader
}
