import { setTimeout as sleep } from 'node:timers/promises'

import { openWay } from '../connector.ts'
import { openIdleSessions } from '../idle-sessions.ts'
import { startInstallation } from '../installation.ts'
import { median, percentile, type Run } from '../measure.ts'
import { readUsage } from '../processes.ts'
import { fill, openRelay, WARM_UP, type Relay } from '../relay.ts'
import { addRoutes } from '../routes.ts'
import { openStuckSink } from '../stuck-sink.ts'
import { cpuOf, ratePerSecond, rateText, repeat, type Row } from '../table.ts'
import type { Target } from '../traffic.ts'
import { normal } from './isolation.ts'
import { spread } from './latency.ts'

interface PrivateOptions {
  seconds?: number
  /** Events for the connector that hangs. */
  waiting?: number
}

const RATE = 200
const CONNECTIONS = 32
const OTHERS = 20
const SESSIONS = 1_000
/** More than two intervals of pings and a sweep. */
const IDLE_SECONDS = 30
const LARGE_BYTES = 5 * 1_024 * 1_024
const LARGE = { connections: 4, rate: 1 }
const MEBIBYTE = 1_048_576

/** Private destinations, each figure beside that of a public one of the same installation. */
export async function privateDestinations(options: PrivateOptions): Promise<Row[]> {
  return [
    ...(await traffic(options)),
    ...(await largeBodies(options)),
    ...(await besideHanging(options)),
    ...(await idle()),
  ]
}

/** A source whose one destination is at the sink, behind an agent. */
async function openPrivate(
  relay: Relay,
  bodyBytes: number,
): Promise<{ target: Target } & AsyncDisposable> {
  const { installation, sink } = relay
  const way = await openWay(installation, sink.urls)
  const { destination } = way
  const { target } = await addRoutes(installation, {
    fanOut: 1,
    bodyBytes,
    urls: sink.urls,
    destination,
  })
  return { target, [Symbol.asyncDispose]: async () => await way[Symbol.asyncDispose]() }
}

async function traffic({ seconds = 8 }: PrivateOptions): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  await using behind = await openPrivate(relay, 1_024)
  const slow = { seconds, connections: CONNECTIONS, rate: RATE }
  const openSlow: Run[] = []
  // In turns, and before the load: what PostgreSQL writes out after it would count for one of them.
  const hiddenSlow = await repeat(async () => {
    openSlow.push(await relay.run(slow))
    return await relay.run({ ...slow, target: behind.target })
  })
  const fast = { seconds, connections: 128, window: 256 }
  const open = await repeat(() => relay.run(fast))
  const hidden = await repeat(() => relay.run({ ...fast, target: behind.target }))
  // The warm-up of `repeat`.
  openSlow.shift()
  const share = ratePerSecond(hidden) / ratePerSecond(open)
  const more = p99(hiddenSlow) - p99(openSlow)
  return [
    row('sustained deliveries, public', '', rateText(ratePerSecond(open)), cpuOf(open)),
    row(
      'sustained deliveries, private',
      'half of public',
      `${rateText(ratePerSecond(hidden))}, ${share.toFixed(2)} of public`,
      cpuOf(hidden),
    ),
    {
      figure: `${RATE}/s, public: request to destination`,
      must: '',
      ...spread(openSlow, 'toArrival'),
    },
    {
      figure: `${RATE}/s, private: request to destination`,
      must: '',
      ...spread(hiddenSlow, 'toArrival'),
    },
    row(`${RATE}/s: p99 of private above public`, '4 ms', `${more.toFixed(2)} ms`, ''),
  ]
}

const p99 = (runs: readonly Run[]): number =>
  median(runs.map(({ toArrival }) => percentile(toArrival, 0.99)))

const row = (figure: string, must: string, measured: string, cpu: string): Row => ({
  figure,
  must,
  measured,
  cpu,
})

async function largeBodies({ seconds = 8 }: PrivateOptions): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: LARGE_BYTES })
  await using behind = await openPrivate(relay, LARGE_BYTES)
  const rows: Row[] = []
  for (const [name, target] of [
    ['public', undefined],
    ['private', behind.target],
  ] as const) {
    const to = target && { target }
    await relay.run({ ...LARGE, seconds: 2, ...to })
    const run = await relay.run({ ...LARGE, seconds, ...to })
    const usage = readUsage(relay.installation.supervisorPid, [...relay.installation.besides])
    const at = (share: number): string => percentile(run.toArrival, share).toFixed(1)
    const memory = (part: 'gateway' | 'agent'): string =>
      `${part} ${Math.round(usage[part].rssBytes / MEBIBYTE)} MiB`
    const late = run.accepted - run.delivered
    rows.push(
      row(
        `${LARGE.rate}/s of 5 MiB, ${name}: request to destination`,
        '',
        `p50 ${at(0.5)}, p99 ${at(0.99)} ms${late > 0 ? `, ${late} late` : ''}`,
        `${memory('gateway')}, ${memory('agent')}`,
      ),
    )
  }
  return rows
}

async function besideHanging({ seconds = 10, waiting = 20_000 }: PrivateOptions): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, sources: OTHERS })
  await using hanging = await openStuckSink('hangs')
  await using way = await openWay(relay.installation, [hanging.url])
  await relay.run(WARM_UP)
  const alone = await normal(relay, 'nothing else', seconds)
  const { target } = await addRoutes(relay.installation, {
    fanOut: 1,
    bodyBytes: 1_024,
    urls: [hanging.url],
    destination: way.destination,
  })
  await fill(target, waiting)
  const beside = `a connector that hangs, ${waiting.toLocaleString('en')} waiting`
  return [alone, await normal(relay, beside, seconds)]
}

async function idle(): Promise<Row[]> {
  const settings = { CONNECTIONS_PER_ADDRESS: String(2 * SESSIONS) }
  await using installation = await startInstallation(settings)
  await using _sessions = await openIdleSessions(installation, SESSIONS)
  await sleep(IDLE_SECONDS * 1_000)
  const before = readUsage(installation.supervisorPid)
  await sleep(IDLE_SECONDS * 1_000)
  const after = readUsage(installation.supervisorPid)
  const cores = (after.gateway.cpuUs - before.gateway.cpuUs) / (IDLE_SECONDS * 1e6)
  const memory = Math.round(after.gateway.rssBytes / MEBIBYTE)
  const figure = `gateway with ${SESSIONS.toLocaleString('en')} connectors, a session each, idle`
  return [
    row(`${figure}: memory`, '512 MiB', `${memory} MiB`, ''),
    row(`${figure}: CPU`, '0.1 core', `${cores.toFixed(3)} core`, ''),
  ]
}
