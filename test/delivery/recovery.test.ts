import { setTimeout as sleep } from 'node:timers/promises'

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { readWatermark, writeWatermark } from '../../core/db/deliveries/upkeep/sweep.ts'
import { firstIdAt } from '../../core/ids.ts'
import { unpackDeliveries } from '../../core/jetstream/delivery-message.ts'
import { ACKS_PENDING_MAX } from '../../core/jetstream/delivery-stream.ts'
import {
  deliveryConsumer,
  DELIVERY_STREAM,
  deliverySubject,
} from '../../core/jetstream/stream-subjects.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { Sweep } from '../../dataplane/housekeeper/sweep/sweep.ts'
import { says, type Arrival } from '../kit/endpoint.ts'
import { homeOf } from '../kit/partitions.ts'
import { eventually, startRelay, type Relay } from '../kit/relay.ts'
import { seedRoute, seedDelivery, uuid } from '../kit/seed.ts'
import { startWorld } from '../kit/world.ts'

/** Past the lease of a first attempt and the margin of the sweep. */
const SWEPT_MS = 21_000

/** Once other work has gone through the worker, whatever was to come twice has come. */
async function goesOn(relay: Relay): Promise<void> {
  const { source } = await relay.route()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
}

/** Deliveries in the stream, whose messages hold one or more. */
async function streamed(relay: Relay): Promise<number> {
  const manager = await jetstreamManager(relay.nats)
  const { state } = await manager.streams.info(DELIVERY_STREAM)
  let count = 0
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await manager.streams.getMessage(DELIVERY_STREAM, { seq })
    if (message !== null) count += unpackDeliveries(message.data).length
  }
  return count
}

const eventsOf = (arrivals: readonly Arrival[]): Set<unknown> =>
  new Set(arrivals.map(({ headers }) => headers['postern-event-id']))

test('deliveries whose messages are lost go out after their lease, once', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  const ids = await relay.acceptMany(source, 8)
  await eventually(async () => expect(await streamed(relay)).toBe(8))
  const manager = await jetstreamManager(relay.nats)
  await manager.streams.purge(DELIVERY_STREAM)
  await relay.startWorker()
  await goesOn(relay)
  expect(endpoint.arrivals).toHaveLength(0)
  await relay.advance(SWEPT_MS)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded', attemptCount: 1 })
  expect(endpoint.arrivals).toHaveLength(8)
})

test('a backlog of messages past their lease goes out once each, with the sweeper looking on', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  const ids = await relay.acceptMany(source, 20)
  await eventually(async () => expect(await streamed(relay)).toBe(20))
  await relay.advance(SWEPT_MS)
  await relay.startWorker()
  for (const id of ids) await relay.reaches(id, { status: 'succeeded', attemptCount: 1 })
  await relay.advance(SWEPT_MS)
  await goesOn(relay)
  expect(endpoint.arrivals).toHaveLength(20)
})

test('deliveries queued for one partition do not keep lost deliveries of another waiting', async () => {
  await using relay = await startRelay({ worker: false })
  const inLine = await relay.route()
  let lost = await relay.route()
  while (homeOf(relay, lost.destination) === homeOf(relay, inLine.destination))
    lost = await relay.route()
  await relay.acceptMany(inLine.source, 2_100)
  const eventId = await relay.accept(lost.source)
  await eventually(async () => expect(await streamed(relay)).toBe(2_101))
  const manager = await jetstreamManager(relay.nats)
  const filter = deliverySubject(homeOf(relay, lost.destination))
  await manager.streams.purge(DELIVERY_STREAM, { filter })
  await relay.advance(SWEPT_MS)
  const due = async (): Promise<unknown[]> =>
    (await relay.pool.query('select delivery_id from delivery_waiting')).rows
  await eventually(async () => expect(await due()).toHaveLength(1), 10_000)
  await relay.startWorker()
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  await eventually(() => expect(inLine.endpoint.arrivals).toHaveLength(2_100), 20_000)
  expect(lost.endpoint.arrivals).toHaveLength(1)
}, 60_000)

test('the sweep finds every delivery lost on three days without a housekeeper', async () => {
  await using world = await startWorld()
  const shop = await seedRoute(world, 'away')
  const nowMs = world.clock.now()
  const ids: string[] = []
  for (const days of [3.5, 2.5, 1.5, 0.01]) {
    const atMs = nowMs - days * DAY_MS
    const seed = { ...shop, eventId: null, status: 'pending', atMs, leaseUntil: new Date(atMs) }
    ids.push(uuid('dlv', await seedDelivery(world, seed)))
  }
  await writeWatermark(world.db, firstIdAt(nowMs - 4 * DAY_MS))
  const manager = await jetstreamManager(world.nats)
  const sweep = new Sweep({ ...world.deps, pool: world.pool, manager })
  while ((await readWatermark(world.db)) < firstIdAt(nowMs - DAY_MS / 100)) await sweep.pass()
  const waiting = await world.pool.query('select delivery_id from delivery_waiting order by 1')
  expect(waiting.rows.map((row) => row.delivery_id)).toEqual(ids)
})

test('a message that comes again after its lease sends nothing again', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  const eventId = await relay.accept(source)
  await eventually(async () => expect(await streamed(relay)).toBe(1))
  const manager = await jetstreamManager(relay.nats)
  const message = await manager.streams.getMessage(DELIVERY_STREAM, { seq: 1 })
  await relay.startWorker()
  await relay.reaches(eventId, { status: 'succeeded' })
  await relay.advance(SWEPT_MS)
  relay.nats.publish(message?.subject ?? '', message?.data)
  await goesOn(relay)
  await eventually(async () => expect(await streamed(relay)).toBe(0))
  expect(endpoint.arrivals).toHaveLength(1)
})

test('a delivery that was lost and whose connection is gone is cancelled', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, connection, endpoint } = await relay.route()
  const eventId = await relay.accept(source)
  await eventually(async () => expect(await streamed(relay)).toBe(1))
  const manager = await jetstreamManager(relay.nats)
  await manager.streams.purge(DELIVERY_STREAM)
  await relay.api('DELETE', `/v1/connections/${connection.id}`)
  await relay.startWorker()
  await relay.advance(SWEPT_MS)
  await relay.reaches(eventId, { status: 'cancelled' })
  expect(endpoint.arrivals).toHaveLength(0)
})

test('without its stream the relay delivers by the sweeper, and makes the stream again', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  const manager = await jetstreamManager(relay.nats)
  await manager.streams.delete(DELIVERY_STREAM)
  const lost = await relay.accept(source)
  await relay.advance(SWEPT_MS)
  await relay.reaches(lost, { status: 'succeeded' }, 20_000)
  await eventually(async () => {
    const { state } = await manager.streams.info(DELIVERY_STREAM)
    expect(state.consumer_count).toBe(PARTITIONS)
  }, 20_000)
  // The clock stands as far as the sweeper is concerned: what comes now comes by the stream.
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(3)
  expect(eventsOf(endpoint.arrivals).size).toBe(3)
}, 60_000)

test('a delivery that ends while its consumer is away is not sent again by the next one', async () => {
  await using relay = await startRelay()
  const { source, destination, endpoint } = await relay.route({
    respond: (response) => setTimeout(() => response.end(), 300),
  })
  const manager = await jetstreamManager(relay.nats)
  // A message nearly as old as the worker's connection is claimed in any case.
  await sleep(4_000)
  const eventId = await relay.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  await manager.consumers.delete(DELIVERY_STREAM, deliveryConsumer(homeOf(relay, destination)))
  await relay.reaches(eventId, { status: 'succeeded' })
  await relay.reaches(await relay.accept(source), { status: 'succeeded' }, 20_000)
  await eventually(async () => expect(await streamed(relay)).toBe(0))
  expect(endpoint.arrivals).toHaveLength(2)
})

test('deliveries of a consumer that gives none to its worker are swept, and the consumer is created again', async () => {
  await using relay = await startRelay()
  const { source, destination, endpoint } = await relay.route()
  const manager = await jetstreamManager(relay.nats)
  const name = deliveryConsumer(homeOf(relay, destination))
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  // Gives one message at a time, and a stranger keeps it.
  await manager.consumers.update(DELIVERY_STREAM, name, { max_ack_pending: 1 })
  const stranger = await jetstream(relay.nats).consumers.get(DELIVERY_STREAM, name)
  let isTaken = false
  void stranger.next({ expires: 20_000 }).then((message) => (isTaken = message !== null))
  const ids: string[] = []
  await eventually(async () => {
    ids.push(await relay.accept(source))
    expect(isTaken).toBe(true)
  })
  ids.push(await relay.accept(source))
  await relay.advance(SWEPT_MS)
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' }, 20_000)
  await eventually(async () => expect(await streamed(relay)).toBe(0))
  const { config } = await manager.consumers.info(DELIVERY_STREAM, name)
  expect(config.max_ack_pending).toBe(ACKS_PENDING_MAX)
  expect(eventsOf(endpoint.arrivals).size).toBe(endpoint.arrivals.length)
}, 60_000)

test('a worker that stops finishes or gives back what it has: nothing is lost and nothing comes twice', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route({
    destination: { maxConcurrency: 2 },
    respond: (response) => {
      setTimeout(() => response.end(), 40)
    },
  })
  const retried = await relay.route({ respond: says(500) })
  const waiting = await relay.accept(retried.source)
  await relay.reaches(waiting, { status: 'pending', attemptCount: 1 })
  const ids = await relay.acceptMany(source, 40)
  const manager = await jetstreamManager(relay.nats)
  await eventually(async () => {
    for await (const { num_pending } of manager.consumers.list(DELIVERY_STREAM)) {
      expect(num_pending).toBe(0)
    }
    expect(endpoint.arrivals.length).toBeGreaterThanOrEqual(4)
  })
  await relay.stopWorker()
  const before = endpoint.arrivals.length
  await relay.startWorker()
  for (const id of ids) await relay.reaches(id, { status: 'succeeded' }, 10_000)
  expect(before).toBeLessThanOrEqual(40)
  expect(endpoint.arrivals).toHaveLength(40)
  expect(eventsOf(endpoint.arrivals).size).toBe(40)
  retried.endpoint.respond = says(200)
  await relay.advance(6_500)
  await relay.reaches(waiting, { status: 'succeeded', attemptCount: 2 })
})

test('a worker that is told to stop while it starts does stop, and the next one delivers', async () => {
  await using relay = await startRelay({ worker: false })
  for (let round = 0; round < 20; round++) {
    await relay.startWorker()
    await relay.stopWorker()
  }
  await relay.startWorker()
  const { source, endpoint } = await relay.route()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
})
