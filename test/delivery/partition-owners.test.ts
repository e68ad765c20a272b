import { setTimeout as sleep } from 'node:timers/promises'

import { AckPolicy, jetstreamManager } from '@nats-io/jetstream'
import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { changePlan } from '../../api/accounts/organisations/organisations.ts'
import { liveProcesses } from '../../core/db/processes/processes.ts'
import { partitionOf } from '../../core/delivery/partition-of.ts'
import { DELIVERY_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { shareOf } from '../../dataplane/worker/own/partition-assignment.ts'
import { says, type Arrival, type Endpoint, type Respond } from '../kit/endpoint.ts'
import { mostInASecond, secondsBetween, timesOf } from '../kit/pace.ts'
import { homeOf } from '../kit/partitions.ts'
import {
  eventually,
  startRelay,
  type Relay,
  type Resource,
  type WorkerProcess,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'

const DIVIDED_MS = 10_000
/** Less than what is left of a lease: whoever stopped has given up its partitions. */
const HANDED_OVER_MS = 4_000

/** Every partition has one owner, and each worker some. */
async function shared(workers: readonly WorkerProcess[], withinMs = DIVIDED_MS): Promise<void> {
  await eventually(() => {
    const owned = workers.map((worker) => worker.partitions())
    expect(owned.flat().toSorted((a, b) => a - b)).toEqual([...Array(PARTITIONS).keys()])
    for (const share of owned) expect(share.length).toBeGreaterThan(0)
  }, withinMs)
}

async function withWorkers(names: readonly string[]): Promise<[Relay, ...WorkerProcess[]]> {
  const relay = await startRelay({ worker: false })
  const workers = await Promise.all(names.map(async (name) => await relay.openWorker(name)))
  await shared(workers)
  return [relay, ...workers]
}

const eventsOf = (arrivals: readonly Arrival[]): unknown[] =>
  arrivals.map(({ headers }) => headers['postern-event-id'])

/** Accepts events until told to stop, over all destinations of a source. */
function keepSending(
  relay: Relay,
  source: Resource,
): AsyncDisposable & { stop(): Promise<string[]> } {
  const ids: string[] = []
  const over = new AbortController()
  const sending = (async () => {
    while (!over.signal.aborted) ids.push(await relay.accept(source))
  })()
  const stop = async (): Promise<string[]> => {
    over.abort()
    await sending
    return ids
  }
  return {
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}

/** A source with so many destinations, hence partitions, at one endpoint. */
async function fanOut(
  relay: Relay,
  count: number,
  endpoint: Endpoint,
): Promise<{ source: Resource; destinations: Resource[] }> {
  const source = await relay.make('sources', {})
  const destinations: Resource[] = []
  for (let n = 0; n < count; n++) {
    const destination = await relay.make('destinations', { url: endpoint.url })
    await relay.connect(source, destination)
    destinations.push(destination)
  }
  return { source, destinations }
}

test('workers share the partitions, and do so anew when one comes, stops or dies', async () => {
  const [opened, one, two] = await withWorkers(['one', 'two'])
  await using relay = opened
  if (one === undefined || two === undefined) throw new Error('No workers')
  const three = await relay.openWorker('three')
  await shared([one, two, three])
  await two.stop()
  await shared([one, three], HANDED_OVER_MS)
  await one.stop()
  await shared([three], HANDED_OVER_MS)
  expect(three.partitions()).toHaveLength(PARTITIONS)
})

test('under traffic, workers that come and stop lose nothing and send nothing twice', async () => {
  await using relay = await startRelay({ worker: false })
  const one = await relay.openWorker('one')
  const endpoint = await relay.endpoint((response) => {
    setTimeout(() => response.end(), 20)
  })
  const { source } = await fanOut(relay, 16, endpoint)
  await using sending = keepSending(relay, source)
  await eventually(() => expect(endpoint.arrivals.length).toBeGreaterThan(64))
  const two = await relay.openWorker('two')
  await shared([one, two])
  const three = await relay.openWorker('three')
  await shared([one, two, three])
  await one.stop()
  await shared([two, three], HANDED_OVER_MS)
  await two.stop()
  await shared([three], HANDED_OVER_MS)
  const ids = await sending.stop()
  // Before the sweeper could have helped.
  await eventually(() => expect(endpoint.arrivals.length).toBeGreaterThanOrEqual(16 * ids.length))
  expect(endpoint.arrivals).toHaveLength(16 * ids.length)
  const deliveries = endpoint.arrivals.map(({ headers }) => headers['webhook-id'])
  expect(new Set(deliveries).size).toBe(16 * ids.length)
  expect(new Set(eventsOf(endpoint.arrivals))).toEqual(new Set(ids))
}, 60_000)

test('an attempt that outlasts a hand-over is recorded by who made it, and is not made again', async () => {
  await using relay = await startRelay({ worker: false })
  const one = await relay.openWorker('one')
  await shared([one])
  const answer = Promise.withResolvers<void>()
  const respond: Respond = (response) => void answer.promise.then(() => response.end())
  let route = await relay.route({ respond })
  while (!shareOf('two', ['one', 'two']).includes(homeOf(relay, route.destination))) {
    route = await relay.route({ respond })
  }
  const eventId = await relay.accept(route.source)
  await relay.reaches(eventId, { status: 'in_flight' })
  const two = await relay.openWorker('two')
  await shared([one, two])
  expect(two.partitions()).toContain(homeOf(relay, route.destination))
  answer.resolve()
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  expect(route.endpoint.arrivals).toHaveLength(1)
})

test('attempts that outlast the hand-over of a worker that stops are recorded before it ends', async () => {
  await using relay = await startRelay({ worker: false })
  const one = await relay.openWorker('one')
  const answers: (() => void)[] = []
  const { source, endpoint } = await relay.route({
    respond: (response) => void answers.push(() => response.end()),
  })
  const ids = await relay.acceptMany(source, 2)
  for (const id of ids) await relay.reaches(id, { status: 'in_flight' })
  const stopping = one.stop()
  await eventually(async () => expect(await liveProcesses(relay.db, 'worker')).toEqual([]))
  await relay.db.transaction().execute(async (tx) => {
    // The result that comes first takes its time, and the second has to wait for it.
    await sql`select from delivery for update`.execute(tx)
    for (const answer of answers) {
      answer()
      await sleep(200)
    }
  })
  await stopping
  for (const id of ids)
    expect(await relay.deliveryOf(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  expect(endpoint.arrivals).toHaveLength(2)
})

test('the pace of an organisation stays exact while its partition changes hands', async () => {
  await using relay = await startRelay({ worker: false })
  let owner = await relay.openWorker('worker 0')
  const { key } = await relay.createTenant('hobby')
  const { source, endpoint } = await relay.route({ key })
  await Promise.all(Array.from({ length: 45 }, () => relay.accept(source)))
  for (let n = 1; n < 4; n++) {
    const next = await relay.openWorker(`worker ${n}`)
    await owner.stop()
    owner = next
  }
  const { data } = await eventually(async () => {
    const list = await relay.get('/v1/deliveries?status=succeeded&limit=100', key)
    expect(list.data).toHaveLength(45)
    return list
  }, 15_000)
  expect(endpoint.arrivals).toHaveLength(45)
  const times = timesOf(data)
  expect(mostInASecond(times)).toBeLessThanOrEqual(21)
  // A bucket of 10 goes at once, the other 35 at 10 a second.
  expect(secondsBetween(times)).toBeGreaterThan(3.3)
}, 40_000)

test('an owner that lost its partitions sends nothing more for them and writes nothing', async () => {
  await using relay = await startRelay({ worker: false })
  const one = await relay.openWorker('one')
  await shared([one])
  const answer = Promise.withResolvers<void>()
  const { source, endpoint } = await relay.route({
    destination: { maxConcurrency: 1 },
    respond: (response) => void answer.promise.then(() => response.end()),
  })
  const ids = [await relay.accept(source), await relay.accept(source), await relay.accept(source)]
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  await sql`update partition_owner set epoch = epoch + 1, holder = 'thief',
    process_id = gen_random_uuid(), held_until = clock_timestamp() + interval '1 hour'`.execute(
    relay.db,
  )
  answer.resolve()
  await eventually(() => expect(one.partitions()).toEqual([]))
  const attempts = await sql`select from attempt`.execute(relay.db)
  expect(attempts.rows).toEqual([])
  for (const id of ids) expect(await relay.deliveryOf(id)).toMatchObject({ attemptCount: 0 })
  const waiting = await sql`select from delivery_waiting where next_at is null`.execute(relay.db)
  expect(waiting.rows).toEqual([])
  const { rows } = await sql`select from partition_owner where holder = 'thief'`.execute(relay.db)
  expect(rows).toHaveLength(PARTITIONS)
})

test('a change of plan moves what waits to the partition that it then has', async () => {
  await using relay = await startRelay({ worker: false })
  const workers = await Promise.all(['one', 'two', 'three'].map((name) => relay.openWorker(name)))
  await shared(workers)
  const tenant = await relay.createTenant('enterprise')
  const routes = await Promise.all(
    [1, 2, 3].map(
      async () => await relay.route({ key: tenant.key, destination: { isEnabled: false } }),
    ),
  )
  const retried = await relay.route({ key: tenant.key, respond: says(500) })
  const waits = await relay.accept(retried.source)
  for (const { source } of routes) await relay.accept(source)
  await eventually(async () => {
    const { rows } = await sql`select from delivery_waiting`.execute(relay.db)
    expect(rows).toHaveLength(4)
  })
  await changePlan({ ...relay.deps, actor: TESTER }, uuid('org', tenant.organisationId), 'scale')
  retried.endpoint.respond = says(200)
  for (const { destination } of routes) {
    const change = { data: { isEnabled: true } }
    const path = `/v1/destinations/${destination.id}`
    expect(await relay.api('PATCH', path, change, { key: tenant.key })).toMatchObject({
      status: 200,
    })
  }
  const home = partitionOf(uuid('org', tenant.organisationId), '', true)
  for (const { endpoint } of routes) {
    await eventually(() => expect(endpoint.arrivals).toHaveLength(1), 8_000)
  }
  await relay.advance(7_000)
  await eventually(() => expect(retried.endpoint.arrivals).toHaveLength(2), 8_000)
  const { rows } = await sql`select from delivery_waiting where partition <> ${home}`.execute(
    relay.db,
  )
  expect(rows).toEqual([])
  const done = await relay.get(`/v1/events/${waits}`, tenant.key)
  expect(done.deliveries).toMatchObject([{ status: 'succeeded' }])
}, 40_000)

test('the former consumer of all partitions makes way, and its messages go out', async () => {
  await using relay = await startRelay({ worker: false })
  const manager = await jetstreamManager(relay.nats)
  await manager.consumers.add(DELIVERY_STREAM, {
    durable_name: 'worker',
    ack_policy: AckPolicy.Explicit,
  })
  const { source, endpoint } = await relay.route()
  const ids = await Promise.all(Array.from({ length: 8 }, () => relay.accept(source)))
  await relay.openWorker('one')
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(8)
  const names: string[] = []
  for await (const { name } of manager.consumers.list(DELIVERY_STREAM)) names.push(name)
  expect(names).toHaveLength(PARTITIONS)
  expect(names).not.toContain('worker')
})
