import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { isGone } from '../../standalone/processes/os-process.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { startLoad, type Load, type Sent } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { missing, openRoute, stored, type Route } from './route.ts'
import { isAccepted } from './tally.ts'
import { until } from './until.ts'

const PER_SECOND = 40
const AWAY_SECONDS = 30
const BACK_MS = 60_000
const DEDUPLICATED = { idempotencyKeys: ['body.number'] }

/** Processes and servers of their own: PostgreSQL is really stopped, and ingest really killed. */
const stack = new AsyncDisposableStack()
let servers = ''
let relay: Relay
beforeAll(async () => {
  servers = stack.use(scratch()).path
  const postgres = await startTestPostgres(servers)
  stack.defer(async () => await (await startTestPostgres(servers)).stop())
  const nats = stack.use(await startTestNats(servers))
  const beside = join(servers, 'spool')
  mkdirSync(beside, { mode: 0o755 })
  const spool = stack.use(await startTestNats(beside))
  const env = { DATABASE_URL: postgres.url, NATS_URL: nats.url, SPOOL_NATS_URL: spool.url }
  relay = stack.use(await startRelay(env))
}, 120_000)
afterAll(async () => await stack.disposeAsync())

/** Loads the route until so many seconds have passed without PostgreSQL, and brings it back. */
async function sendThroughOutage(
  route: Route,
  seconds: number,
  meanwhile: () => Promise<void> = async () => {},
): Promise<readonly Sent[]> {
  // Each tenth request repeats the one before it.
  const eventOf = (count: number): number => (count % 10 === 0 ? count - 1 : count)
  await using load: Load = startLoad({ ...route, perSecond: PER_SECOND, eventOf })
  await load.reached(2 * PER_SECOND)
  await (await startTestPostgres(servers)).stop()
  await load.reached((2 + seconds) * PER_SECOND)
  const sent = await load.stop()
  await meanwhile()
  await startTestPostgres(servers)
  return sent
}

async function allArrive(route: Route, sent: readonly Sent[]): Promise<void> {
  const numbers = new Set(sent.filter(isAccepted).map(({ number }) => number))
  const { arrivals } = route.destination
  await until('all arrive', () => numbers.isSubsetOf(new Set(arrivals.keys())), BACK_MS)
  const twice = [...arrivals].filter(([, same]) => same.length > 1).map(([number]) => number)
  expect(twice).toEqual([])
  expect(await missing(relay, sent)).toEqual([])
}

test('30 s without PostgreSQL refuse nothing, lose nothing and deliver nothing twice', async () => {
  await using route = await openRoute(relay, 'spooled', { source: DEDUPLICATED })
  const sent = await sendThroughOutage(route, AWAY_SECONDS)
  const unlike = sent.filter((one) => !isAccepted(one))
  expect(unlike).toEqual([])
  const repeated = sent.filter(({ answer }) => answer.kind === 'duplicate')
  // The one that repeats a request of before the outage may be an event of its own.
  expect(repeated.length).toBeGreaterThanOrEqual(sent.length / 10 - 2)
  await allArrive(route, sent)
  const ids = new Set(sent.flatMap(({ answer }) => ('eventId' in answer ? [answer.eventId] : [])))
  expect(await stored(relay, route)).toBe(ids.size)
}, 180_000)

test('an ingest that is killed between its 200 and the storing loses nothing', async () => {
  await using route = await openRoute(relay, 'killed', { source: DEDUPLICATED })
  const sent = await sendThroughOutage(route, 3, async () => {
    const pid = relay.role('ingest')
    process.kill(pid, 'SIGKILL')
    await isGone(pid, BACK_MS)
  })
  expect(sent.filter((one) => !isAccepted(one))).toEqual([])
  await allArrive(route, sent)
}, 180_000)
