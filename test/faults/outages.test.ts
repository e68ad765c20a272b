import { rmSync } from 'node:fs'
import { join } from 'node:path'

import type { JetStreamManager } from '@nats-io/jetstream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { deliveryManager } from '../../core/jetstream/delivery-stream.ts'
import { DELIVERY_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { DESTINATION_CONCURRENCY_DEFAULT, LEASE_MS } from '../../core/limits.ts'
import { openNats } from '../../core/nats.ts'
import { isGone } from '../../standalone/processes/os-process.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { startLoad, type Load } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'
import { accountOf } from './tally.ts'

const PER_SECOND = 500
const AWAY_SECONDS = 10
const FROZEN_SECONDS = 20
/** Senders wait meanwhile: what they hold back comes at once afterwards. */
const FREEZE_PER_SECOND = 200
const BACK_MS = 30_000
/** The five seconds of a statement or a connection, and one for a busy machine. */
const REFUSED_WITHIN_MS = 6_000

/** The servers are the test's own: no supervisor brings them back before the test does. */
const stack = new AsyncDisposableStack()
let servers = ''
let relay: Relay
beforeAll(async () => {
  servers = stack.use(scratch()).path
  const postgres = await startTestPostgres(servers)
  stack.defer(async () => await (await startTestPostgres(servers)).stop())
  const nats = await startTestNats(servers)
  stack.defer(async () => await (await startTestNats(servers)).stop())
  relay = stack.use(await startRelay({ DATABASE_URL: postgres.url, NATS_URL: nats.url }))
})
afterAll(async () => await stack.disposeAsync())

/** Lets the load run on for so long, by its own count. Returns the count. */
async function pass(load: Load, from: number, seconds: number): Promise<number> {
  const count = from + seconds * PER_SECOND
  await load.reached(count)
  return count
}

async function managerOfServer(): Promise<JetStreamManager> {
  const { url } = await startTestNats(servers)
  const nats = await openNats(url, 'test', pino({ level: 'silent' }))
  onTestFinished(async () => await nats.close())
  return await deliveryManager(nats)
}

test('NATS away and back without its store loses nothing that was accepted', async () => {
  await using route = await openRoute(relay, 'NATS away')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  const left = await pass(load, 0, 3)
  const { pid } = await startTestNats(servers)
  process.kill(pid, 'SIGKILL')
  await isGone(pid, BACK_MS)
  const back = await pass(load, left, AWAY_SECONDS)
  rmSync(join(servers, 'nats', 'jetstream'), { recursive: true })
  await startTestNats(servers)
  await pass(load, back, 4)
  const sent = await load.stop()
  const account = await settle('NATS away, store lost', relay, { route, sent })
  expect(account).toMatchObject({ refused: 0, unanswered: 0 })
  // The stream was made anew: the last ones did not have to wait for the sweep.
  const last = accountOf(sent.slice(-PER_SECOND), route.destination.arrivals)
  expect(last.longestMs).toBeLessThan(LEASE_MS)
})

test('consumers that are deleted under load cost nothing and repeat nothing', async () => {
  await using route = await openRoute(relay, 'consumers deleted')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  const deleted = await pass(load, 0, 3)
  const manager = await managerOfServer()
  for await (const { name } of manager.consumers.list(DELIVERY_STREAM))
    await manager.consumers.delete(DELIVERY_STREAM, name)
  await pass(load, deleted, AWAY_SECONDS)
  const account = await settle('consumers deleted', relay, { route, sent: await load.stop() })
  expect(account).toMatchObject({ refused: 0, unanswered: 0, duplicated: 0 })
  // Deliveries of that time waited in the stream.
  expect(account.longestMs).toBeLessThan(LEASE_MS)
})

test('a delivery stream that is deleted under load loses nothing, and is made anew', async () => {
  await using route = await openRoute(relay, 'stream deleted')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  const deleted = await pass(load, 0, 3)
  await (await managerOfServer()).streams.delete(DELIVERY_STREAM)
  await pass(load, deleted, AWAY_SECONDS + 5)
  const sent = await load.stop()
  const account = await settle('stream deleted', relay, { route, sent })
  expect(account).toMatchObject({ refused: 0, unanswered: 0, duplicated: 0 })
  const last = accountOf(sent.slice(-PER_SECOND), route.destination.arrivals)
  expect(last.longestMs).toBeLessThan(LEASE_MS)
})

test('PostgreSQL away makes ingest answer 503 with Retry-After until it is back', async () => {
  await using route = await openRoute(relay, 'PostgreSQL away')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  const left = await pass(load, 0, 3)
  await (await startTestPostgres(servers)).stop()
  const goneAtMs = performance.now()
  const back = await pass(load, left, AWAY_SECONDS)
  const backAtMs = performance.now()
  await startTestPostgres(servers)
  await load.accepted(BACK_MS)
  await pass(load, back, 3)
  const sent = await load.stop()
  await settle('PostgreSQL away', relay, { route, sent })
  const meanwhile = sent.filter((one) => one.sentAtMs > goneAtMs && one.answeredAtMs < backAtMs)
  const unlike = meanwhile.filter(
    ({ answer }) =>
      answer.kind !== 'refused' || answer.status !== 503 || answer.retryAfter === null,
  )
  const waits = meanwhile.map((one) => one.answeredAtMs - one.sentAtMs)
  expect(meanwhile.length).toBeGreaterThan((AWAY_SECONDS - REFUSED_WITHIN_MS / 1_000) * PER_SECOND)
  expect(unlike).toEqual([])
  expect(Math.max(...waits)).toBeLessThan(REFUSED_WITHIN_MS)
})

test('a frozen ingest loses nothing that was accepted', async () => {
  await using route = await openRoute(relay, 'frozen ingest')
  await using load = startLoad({ ...route, perSecond: FREEZE_PER_SECOND })
  await load.reached(2 * FREEZE_PER_SECOND)
  const pid = relay.role('ingest')
  process.kill(pid, 'SIGSTOP')
  await load.reached((2 + FROZEN_SECONDS) * FREEZE_PER_SECOND)
  process.kill(pid, 'SIGCONT')
  await load.accepted(BACK_MS)
  const account = await settle('frozen ingest', relay, { route, sent: await load.stop() })
  expect(account.duplicated).toBe(0)
})

test('a frozen worker gives way to the other one and takes nothing back', async () => {
  await using _second = relay.startSecondWorker()
  await using route = await openRoute(relay, 'frozen worker')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  const frozen = await pass(load, 0, 4)
  const pid = relay.role('worker')
  process.kill(pid, 'SIGSTOP')
  const woken = await pass(load, frozen, FROZEN_SECONDS)
  const deliveredMeanwhile = route.destination.arrivals.size - frozen
  process.kill(pid, 'SIGCONT')
  await pass(load, woken, 2)
  const account = await settle('frozen worker', relay, { route, sent: await load.stop() })
  expect(account).toMatchObject({ refused: 0, unanswered: 0 })
  expect(deliveredMeanwhile).toBeGreaterThan((FROZEN_SECONDS / 4) * PER_SECOND)
  expect(account.duplicated).toBeLessThanOrEqual(DESTINATION_CONCURRENCY_DEFAULT)
})
