import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import { signal } from '../../standalone/processes/os-process.ts'
import { openConnector, type Connector } from './connector.ts'
import { startLoad } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute, type Route } from './route.ts'
import { settle } from './settle.ts'
import { until } from './until.ts'

const PER_SECOND = 60
/** Each answer takes so long that some requests are always under way. */
const DELAY_MS = 200
const PATIENT = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 50 } }
const TIMEOUT_MS = 480_000
const Replicas = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) })
const Counted = z.object({ count: z.number() })

async function openPrivateRoute(
  relay: Relay,
  name: string,
): Promise<{ connector: Connector; route: Route } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const connector = stack.use(await openConnector(relay, name))
  const destination = { ...PATIENT, ...connector.destination }
  const route = stack.use(
    await openRoute(relay, name, { destination, delayMs: DELAY_MS, keepsBodies: false }),
  )
  const owned = stack.move()
  return { connector, route, [Symbol.asyncDispose]: async () => await owned.disposeAsync() }
}

test(
  'agents, gateway, worker and NATS killed in the middle of requests lose nothing that was accepted',
  async () => {
    await using relay = await startRelay()
    await using opened = await openPrivateRoute(relay, 'killed')
    const { connector, route } = opened
    const urls = [route.destination.url]
    const agents = [connector.startAgent('one', urls), connector.startAgent('two', urls)]
    await connector.online(2)
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(PER_SECOND)
    const pids = [
      () => agents[0]?.pid(),
      () => relay.role('gateway'),
      () => relay.role('worker'),
      () => relay.server('nats'),
    ]
    for (const pidOf of pids) {
      signal(pidOf() ?? 0, 'SIGKILL')
      await load.goesOn(4 * PER_SECOND)
      await connector.online(2)
    }
    const account = await settle('connectors killed', relay, { route, sent: await load.stop() })
    expect(account.delivered).toBeGreaterThan(pids.length * PER_SECOND)
  },
  TIMEOUT_MS,
)

test(
  'no attempt begins at a revoked replica a second after it was revoked under load',
  async () => {
    await using relay = await startRelay()
    await using opened = await openPrivateRoute(relay, 'revoked')
    const { connector, route } = opened
    const urls = [route.destination.url]
    for (const name of ['stays', 'goes']) connector.startAgent(name, urls)
    await connector.online(2)
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(3 * PER_SECOND)
    const { data } = Replicas.parse(
      await relay.api('GET', `/v1/connectors/${connector.id}/replicas`),
    )
    const id = data.find(({ name }) => name === 'goes')?.id ?? ''
    const attempts = async (since: string): Promise<number> => {
      const [row] = await relay.query(
        `select count(*)::int4 as count from attempt where replica_id = $1::uuid and started_at > ${since}`,
        [decodeId('rpl', id)],
      )
      return Counted.parse(row).count
    }
    expect(await attempts(`'-infinity'`)).toBeGreaterThan(0)
    await relay.api('POST', `/v1/connectors/${connector.id}/replicas/${id}/revoke`)
    await sleep(1_000)
    const [now] = await relay.query(`select clock_timestamp()::text as now`, [])
    const { now: second } = z.object({ now: z.string() }).parse(now)
    await load.goesOn(4 * PER_SECOND)
    const account = await settle('a replica revoked', relay, { route, sent: await load.stop() })
    expect(account.delivered).toBeGreaterThan(0)
    expect(await attempts(`'${second}'::timestamptz`)).toBe(0)
    await connector.online(1)
  },
  TIMEOUT_MS,
)

test(
  'deliveries for an offline connector go out within a second of an agent, oldest first',
  async () => {
    await using relay = await startRelay()
    await using opened = await openPrivateRoute(relay, 'offline')
    const { connector, route } = opened
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(5 * PER_SECOND)
    const sent = await load.stop()
    connector.startAgent('late', [route.destination.url])
    const isOnline = connector.online(1).then(() => performance.now())
    const { arrivals } = route.destination
    await until('the first arrives', () => arrivals.size > 0, 60_000)
    const firstAtMs = [...arrivals.values()][0]?.[0]?.atMs ?? 0
    // The look for the replica comes a little after its session.
    expect(firstAtMs - (await isOnline)).toBeLessThan(1_000)
    const account = await settle('a connector offline', relay, { route, sent })
    expect(account.duplicated).toBe(0)
    const order = [...arrivals.keys()]
    const [first = 0] = order
    expect(first).toBe(1)
    // No herd: the oldest are the first, within what the concurrency lets pass one another.
    const late = order.slice(0, 50).filter((number) => number > 150)
    expect(late).toEqual([])
    const [tried] = await relay.query(`select max(attempt_count)::int4 as count from delivery`, [])
    expect(Counted.parse(tried).count).toBe(1)
  },
  TIMEOUT_MS,
)
