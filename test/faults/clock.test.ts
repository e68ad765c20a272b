import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { HOUR_MS } from '../../core/clock.ts'
import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { isGone } from '../../standalone/processes/os-process.ts'
import { listen } from '../kit/event-stream.ts'
import { scratch, startTestNats } from '../kit/servers.ts'
import type { Arrival } from './destination.ts'
import { listed } from './listed.ts'
import { startLoad } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute, type Route } from './route.ts'
import { settle } from './settle.ts'
import { isAccepted } from './tally.ts'
import { until } from './until.ts'

const PER_SECOND = 150
const PHASE_SECONDS = 4
/** Below what the paced destination takes, so that its queue is short at all times. */
const PACED_PER_SECOND = 30
const PACED = { rateLimit: 40 }
const RETRIED_PER_SECOND = 5
const RETRY_SECONDS = 2
const RETRIED = {
  retryPolicy: { strategy: 'schedule', scheduleSeconds: [RETRY_SECONDS], maxAttempts: 5 },
}
/** Far more than the schedule and its jitter. */
const RETRIED_LATE_MS = 5 * RETRY_SECONDS * 1_000
/** When the clock is set ahead leases are over: what is being sent or recorded then, on a machine that is busy too. */
const DUPLICATES_MAX = DESTINATION_CONCURRENCY_DEFAULT + PER_SECOND / 2
const BACK_MS = 30_000
/** No phase begins with a longer pause, whatever the clock says. */
const PAUSE_MS_MAX = 4_000

const stack = new AsyncDisposableStack()
let relay: Relay
let servers = ''
let clockFile = ''
beforeAll(async () => {
  servers = stack.use(scratch()).path
  clockFile = join(servers, 'clock')
  setClock(0)
  const nats = await startTestNats(servers)
  stack.defer(async () => await (await startTestNats(servers)).stop())
  relay = stack.use(await startRelay({ NATS_URL: nats.url, TEST_CLOCK_FILE: clockFile }))
})
afterAll(async () => await stack.disposeAsync())

/** Sets the clock of all processes at once, so far ahead of the system's. */
function setClock(aheadMs: number): void {
  writeFileSync(`${clockFile}.next`, String(aheadMs))
  renameSync(`${clockFile}.next`, clockFile)
}

test('a clock that is set an hour ahead and back again loses nothing, holds nothing up and repeats little', async () => {
  await using plain = await openRoute(relay, 'plain')
  await using paced = await openRoute(relay, 'paced', { destination: PACED })
  await using retried = await openRoute(relay, 'retried', {
    destination: RETRIED,
    statusOf: (arrival) => (arrival === 1 ? 500 : 200),
  })
  const { apiKey } = Told.parse(
    JSON.parse(readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8')),
  )
  using stream = await listen(relay.apiUrl, { key: apiKey, query: `?sourceId=${plain.sourceId}` })
  await stream.heard('ready')
  await using load = startLoad({ ...plain, perSecond: PER_SECOND })
  await using pacedLoad = startLoad({ ...paced, perSecond: PACED_PER_SECOND })
  await using retriedLoad = startLoad({ ...retried, perSecond: RETRIED_PER_SECOND })
  let reached = 0
  const pass = async (seconds: number): Promise<void> => {
    reached += seconds * PER_SECOND
    await load.reached(reached)
  }
  const phase = async (aheadMs: number): Promise<void> => {
    setClock(aheadMs)
    const since = new Date(Date.now() + aheadMs).toISOString()
    const seen = stream.events().length
    await pass(PHASE_SECONDS)
    const some = (PHASE_SECONDS * PER_SECOND) / 2
    await until('the stream goes on', () => stream.events().length - seen > some, BACK_MS)
    const shown = await listed(relay, { sourceId: plain.sourceId, from: since, sortDir: 'asc' })
    expect(shown.length).toBeGreaterThan(some)
  }
  await pass(PHASE_SECONDS)
  await phase(HOUR_MS)
  const backAtMs = performance.now()
  await phase(0)
  const steppedAtMs = performance.now()

  // Deliveries in NATS are lost with it: the sweep finds them although the clock was ahead.
  const { pid } = await startTestNats(servers)
  process.kill(pid, 'SIGKILL')
  await isGone(pid, BACK_MS)
  await pass(1)
  rmSync(join(servers, 'nats', 'jetstream'), { recursive: true })
  await startTestNats(servers)
  await pass(1)
  const sent = await load.stop()
  const pacedSent = await pacedLoad.stop()
  const retriedSent = await retriedLoad.stop()

  for (const [name, route, all] of [
    ['plain', plain, sent],
    ['paced', paced, pacedSent],
  ] as const) {
    const account = await settle(`clock set, ${name}`, relay, { route, sent: all })
    expect(account).toMatchObject({ refused: 0, unanswered: 0 })
    expect(account.duplicated).toBeLessThanOrEqual(DUPLICATES_MAX)
    expect(longestPauseMs(route, steppedAtMs)).toBeLessThan(PAUSE_MS_MAX)
  }
  const ids = sent.flatMap(({ answer }) => ('eventId' in answer ? [answer.eventId] : []))
  expect(new Set(ids).size).toBe(ids.length)
  await stream.hears(ids)
  expect(stream.messages.filter(({ event }) => event === 'gap')).toEqual([])

  // A retry that was given its time before the clock was set back comes at that time, by the clock.
  setClock(HOUR_MS)
  const numbers = retriedSent.filter(isAccepted).map(({ number }) => number)
  const triesOf = (number: number): readonly Arrival[] =>
    retried.destination.arrivals.get(number) ?? []
  const areAllTried = (): boolean => numbers.every((number) => triesOf(number).length > 1)
  await until('all is tried again', areAllTried, BACK_MS)
  expect(numbers.filter((number) => triesOf(number).length > 2)).toEqual([])
  const late = numbers.filter((number) => waitOf(triesOf(number)) > RETRIED_LATE_MS)
  expect(late.length).toBeGreaterThan(0)
  // By their first try they had their time before the clock went back.
  expect(late.filter((number) => (triesOf(number)[0]?.atMs ?? 0) > backAtMs)).toEqual([])
  const all = await listed(relay, { sourceId: plain.sourceId, sortDir: 'asc' })
  expect(all).toHaveLength(ids.length)
  expect(new Set(all).symmetricDifference(new Set(ids))).toEqual(new Set())
  expect(logOf('worker')).not.toContain('Lost partitions')
  expect(logOf('housekeeper').split('Acquired a lease')).toHaveLength(2)
}, 240_000)

const Told = z.object({ apiKey: z.string() })

/** From the first try to the second. */
function waitOf([first, second]: readonly Arrival[]): number {
  return (second?.atMs ?? Number.NaN) - (first?.atMs ?? Number.NaN)
}

function longestPauseMs({ destination }: Route, untilMs: number): number {
  const at = [...destination.arrivals.values()].flatMap((same) => same.map(({ atMs }) => atMs))
  const before = at.filter((ms) => ms < untilMs).toSorted((one, other) => one - other)
  return Math.max(...before.slice(1).map((ms, index) => ms - (before[index] ?? ms)))
}

function logOf(role: string): string {
  return readFileSync(join(relay.dataDir, 'logs', `${role}.log`), 'utf8')
}
