import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { isGone } from '../../standalone/processes/os-process.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { baseBackup, DEBIAN_BIN, dump, type BackupWay } from './backups.ts'
import { numbered, startLoad, type Sent } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { missing, openRoute, type Route } from './route.ts'
import { settle } from './settle.ts'
import { isAccepted } from './tally.ts'
import { until } from './until.ts'

const PER_SECOND = 120
/** The destination takes a quarter of what comes: some of what the backup has still waits when PostgreSQL is killed. */
const TAKEN_PER_SECOND = 30
const GONE_MS = 30_000
const BACK_MS = 60_000
/** Numbers of the events that are sent after the restore. */
const LATER = 1_000_000

if (DEBIAN_BIN === undefined) {
  process.stdout.write('pg_dump is not tested: Debian’s PostgreSQL is not installed\n')
}

describe.for([
  ['a base backup with its log', 'stale', baseBackup],
  ['a base backup with its log', 'empty', baseBackup],
  ['pg_dump', 'stale', dump],
  ['pg_dump', 'empty', dump],
] as const)('%s under load, restored beside a NATS whose store is %s', ([name, store, way]) => {
  test.skipIf(way === dump && DEBIAN_BIN === undefined)(
    'has every event that was answered before, delivers what waited, and sends nothing that it does not know',
    async () => await expectRestored(`${name}, NATS ${store}`, way, store),
  )
})

async function expectRestored(
  name: string,
  way: BackupWay,
  store: 'stale' | 'empty',
): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const servers = stack.use(scratch()).path
  const postgres = await way.start(servers)
  stack.defer(async () => await (await startTestPostgres(servers)).stop())
  const nats = await startTestNats(servers)
  stack.defer(async () => await (await startTestNats(servers)).stop())
  const urls = { DATABASE_URL: postgres.url, NATS_URL: nats.url }
  const relay = stack.use(await startRelay(urls))
  const route = stack.use(
    await openRoute(relay, name, { destination: { rateLimit: TAKEN_PER_SECOND } }),
  )

  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(3 * PER_SECOND)
  const backup = await way.backUp(servers, postgres)
  await load.goesOn(3 * PER_SECOND)
  const sent = await load.stop()

  await stopRoles(relay)
  process.kill(postgres.pid, 'SIGKILL')
  await isGone(postgres.pid, GONE_MS)
  if (store === 'empty') {
    await nats.stop()
    rmSync(join(servers, 'nats', 'jetstream'), { recursive: true })
    await startTestNats(servers)
  }
  const arrivedBefore = new Set(route.destination.arrivals.keys())
  const restoredMs = performance.now()
  await backup.restore()
  await relay.startAgain()

  const known = sent.filter((one) => isAccepted(one) && one.answeredAtMs < backup.coversMs)
  const lost = new Set(await missing(relay, sent))
  const after = await sendOn(relay, route)
  const account = await settle(name, relay, { route, sent: [...known, ...after] })

  const again = (number: number): boolean =>
    (route.destination.arrivals.get(number) ?? []).some(({ atMs }) => atMs > restoredMs)
  const twice = known.filter(({ number }) => arrivedBefore.has(number) && again(number))
  const late = known.filter(({ number }) => !arrivedBefore.has(number))
  const tally = {
    known: known.length,
    waited: late.length,
    twice: twice.length,
    lost: lost.size,
    ghosts: [...lost].filter(again).length,
  }
  process.stdout.write(`${name}: ${JSON.stringify(tally)}\n`)
  expect(known.filter(({ number }) => lost.has(number))).toEqual([])
  expect(late.length).toBeGreaterThan(0)
  // Both follow from how the test runs: without them it would show nothing.
  expect(lost.size).toBeGreaterThan(0)
  expect(twice.length).toBeGreaterThan(0)
  expect(tally.ghosts).toBe(0)
  expect(account.unanswered).toBe(0)
}

/** As `kubectl scale --replicas=0` or `docker compose stop`. */
async function stopRoles(relay: Relay): Promise<void> {
  const pid = relay.supervisor()
  process.kill(pid, 'SIGTERM')
  expect(await isGone(pid, GONE_MS)).toBe(true)
}

async function lists(relay: Relay): Promise<boolean> {
  return (await relay.api('GET', '/v1/sources')) !== undefined
}

/** Through the route that is there and through a new one, which every role has to hear of. */
async function sendOn(relay: Relay, route: Route): Promise<readonly Sent[]> {
  await until('the API answers', async () => await lists(relay), BACK_MS)
  await using fresh = await openRoute(relay, 'after the restore')
  await using other = startLoad({ ...fresh, perSecond: 20 })
  await using load = startLoad({
    ...route,
    perSecond: 20,
    eventOf: (count) => LATER + count,
    requestOf: numbered,
  })
  await load.reached(40)
  await settle('made after the restore', relay, { route: fresh, sent: await other.stop() })
  return await load.stop()
}
