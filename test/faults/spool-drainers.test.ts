import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { signal, waitFor } from '../../standalone/processes/os-process.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { startLoad, type Sent } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { missing, openRoute, stored, unsettled, type Route } from './route.ts'
import { isAccepted } from './tally.ts'
import { until } from './until.ts'

const ROUTES = 8
const PER_SECOND = 40
const SPOOLED = 12 * PER_SECOND
const BACK_MS = 90_000
const DRAINERS = ['drainer-1', 'drainer-2']
const Holders = z.array(z.object({ holder: z.string() }))
const Open = z.array(z.object({ count: z.number() }))

/** Three processes that drain: the ingest that accepts, and two that are killed. */
const stack = new AsyncDisposableStack()
let servers = ''
let relay: Relay
let spool: Record<string, string>
beforeAll(async () => {
  servers = stack.use(scratch()).path
  const postgres = await startTestPostgres(servers)
  stack.defer(async () => await (await startTestPostgres(servers)).stop())
  const nats = stack.use(await startTestNats(servers))
  const beside = join(servers, 'spool')
  mkdirSync(beside, { mode: 0o755 })
  spool = { SPOOL_NATS_URL: stack.use(await startTestNats(beside)).url }
  relay = stack.use(await startRelay({ DATABASE_URL: postgres.url, NATS_URL: nats.url, ...spool }))
}, 120_000)
afterAll(async () => await stack.disposeAsync())

/** Who holds a share now. */
async function holders(): Promise<string[]> {
  const rows = await relay.query(
    `select distinct holder from lease where name like 'spool%' and held_until > clock_timestamp()`,
    [],
  )
  return Holders.parse(rows).map(({ holder }) => holder)
}

/** Makes the sources known to ingest, and leaves no attempt whose result is still to be written. */
async function sendOneEach(routes: readonly Route[]): Promise<void> {
  for (const route of routes) {
    await using load = startLoad({ ...route, perSecond: PER_SECOND, eventOf: () => 0 })
    await load.accepted(BACK_MS)
    await load.stop()
    const areSettled = async (): Promise<boolean> => (await unsettled(relay, route)).length === 0
    await until('what was sent before is delivered', areSettled, BACK_MS)
  }
}

/** Each commit takes 0.1 s once PostgreSQL is started again: a fast machine would drain all before a process is killed. */
async function slowCommits(): Promise<void> {
  await relay.query('alter system set commit_delay = 100000', [])
  await relay.query('alter system set commit_siblings = 0', [])
}

async function sendThroughOutage(routes: readonly Route[]): Promise<(readonly Sent[])[]> {
  await sendOneEach(routes)
  await slowCommits()
  await (await startTestPostgres(servers)).stop()
  const loads = routes.map((route) => startLoad({ ...route, perSecond: PER_SECOND }))
  for (const load of loads) await load.reached(SPOOLED)
  return await Promise.all(loads.map(async (load) => await load.stop()))
}

/** Kills a drainer in the middle of its share, while another process drains as well. */
async function killOne(drainers: ReadonlyMap<string, { kill(): Promise<void> }>): Promise<string> {
  let killed: string | undefined
  await until(
    'several drain, one of them a drainer',
    async () => {
      const now = await holders()
      killed = DRAINERS.find((name) => now.includes(`ingest ${name}`))
      return now.length > 1 && killed !== undefined
    },
    BACK_MS,
  )
  await drainers.get(killed ?? '')?.kill()
  return `ingest ${killed}`
}

test('several processes drain the spool at once, and one that is killed half way loses and doubles nothing', async () => {
  await using own = new AsyncDisposableStack()
  const drainers = new Map(
    DRAINERS.map((name) => [name, own.use(relay.startDrainer(name, spool))] as const),
  )
  const routes: Route[] = []
  for (let n = 0; n < ROUTES; n++) routes.push(own.use(await openRoute(relay, `drained ${n}`)))
  const sent = await sendThroughOutage(routes)
  const accepted = sent.map((of) => of.filter(isAccepted))
  expect(accepted.flat().length).toBeGreaterThan(sent.flat().length / 2)
  // It stands still until two others drain: it might take every share before them.
  signal(relay.role('ingest'), 'SIGSTOP')
  await startTestPostgres(servers)
  const killed = await killOne(drainers)
  const counts = await Promise.all(routes.map(async (route) => await stored(relay, route)))
  const storedThen = counts.reduce((sum, count) => sum + count, 0)
  expect(storedThen).toBeLessThan(accepted.flat().length)
  signal(relay.role('ingest'), 'SIGCONT')
  for (const [index, route] of routes.entries()) {
    const numbers = new Set((accepted[index] ?? []).map(({ number }) => number))
    const { arrivals } = route.destination
    const areAll = (): boolean => numbers.isSubsetOf(new Set(arrivals.keys()))
    await waitFor(areAll, BACK_MS)
    expect(await missing(relay, sent[index] ?? [])).toEqual([])
    expect(areAll()).toBe(true)
    const before = arrivals.get(0)?.length ?? 0
    const twice = [...arrivals].filter(([number, same]) => number > 0 && same.length > 1)
    expect(twice.map(([number]) => number)).toEqual([])
    // An event whose sender left before its answer is stored too, once.
    expect(await stored(relay, route)).toBe(arrivals.size - 1 + before)
  }
  // A row that stays open makes every live stream look back to the outage.
  await until(
    'each drain has ended, that of the killed process too',
    async () => {
      const open = await relay.query(
        'select count(*)::int4 as count from spool_drain where until_transaction is null',
        [],
      )
      return Open.parse(open)[0]?.count === 0
    },
    BACK_MS,
  )
  expect(await holders()).not.toContain(killed)
}, 240_000)
