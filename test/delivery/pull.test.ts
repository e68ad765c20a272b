import { setTimeout as sleep } from 'node:timers/promises'

import { jetstream } from '@nats-io/jetstream'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import { openPool } from '../../core/db/connection/db.ts'
import { newId } from '../../core/ids.ts'
import {
  encodeDelivery,
  encodeEvent,
  packDeliveries,
} from '../../core/jetstream/delivery-message.ts'
import { DeliveryPull, type StreamMessage } from '../../core/jetstream/delivery-pull.ts'
import {
  ensureDeliveryConsumer,
  ensureDeliveryStream,
} from '../../core/jetstream/delivery-stream.ts'
import {
  deliveryConsumer,
  DELIVERY_STREAM,
  DELIVERY_SUBJECTS,
  deliverySubject,
} from '../../core/jetstream/stream-subjects.ts'
import { LEASE_MS, PULL_BYTES_MAX } from '../../core/limits.ts'
import { connectedMs, openNats } from '../../core/nats.ts'
import { ByteBudget } from '../../dataplane/worker/in-flight/byte-budget.ts'
import { InFlight } from '../../dataplane/worker/in-flight/in-flight.ts'
import type { Work } from '../../dataplane/worker/in-flight/work.ts'
import { openResults } from '../../dataplane/worker/record/results.ts'
import { StreamConsumer, type ConsumeDeps } from '../../dataplane/worker/take/stream-consumer.ts'
import { eventually } from '../kit/relay.ts'
import { scratch, startTestNats } from '../kit/servers.ts'
import { cloneDatabase } from '../kit/world.ts'

const PARTITION = 5

const log = pino({ level: 'silent' })

/** A NATS server with the delivery stream, and how to publish to one of its partitions. */
async function openStream(stack: AsyncDisposableStack) {
  const directory = stack.use(scratch())
  const server = await startTestNats(directory.path)
  stack.defer(async () => await server.stop())
  const nats = await openNats(server.url, 'test', log)
  stack.defer(async () => await nats.close())
  const manager = await ensureDeliveryStream(nats)
  const publish = async (all: readonly Uint8Array[]): Promise<void> => {
    const js = jetstream(nats)
    await Promise.all(all.map((data) => js.publish(deliverySubject(PARTITION), data)))
  }
  return { server, nats, manager, publish }
}

/** A pull of one partition, which asks as long as it may. */
async function openPull(stack: AsyncDisposableStack) {
  const { nats, manager, publish } = await openStream(stack)
  const taken: StreamMessage[] = []
  const missedAt: number[] = []
  const state = { mayAsk: true }
  const pull: DeliveryPull = new DeliveryPull({
    nats,
    partition: PARTITION,
    ahead: () => 256,
    mayAsk: () => state.mayAsk,
    take: (message) => taken.push(message),
    onMissing: () => {
      missedAt.push(performance.now())
      void ensureDeliveryConsumer(manager, PARTITION).then(() => pull.resume(performance.now()))
    },
  })
  stack.defer(async () => await pull.stop())
  return {
    pull,
    manager,
    missedAt,
    state,
    taken,
    publish: async (bytes: number, count: number) =>
      await publish(Array.from({ length: count }, () => new Uint8Array(bytes))),
  }
}

const bytesOf = (taken: readonly StreamMessage[]): number =>
  taken.reduce((sum, { data }) => sum + data.length, 0)

test('a partition asks for no more bytes at once than its part, and for the rest later', async () => {
  await using stack = new AsyncDisposableStack()
  const { pull, state, taken, publish } = await openPull(stack)
  await publish(1_000, 1)
  await eventually(() => expect(taken).toHaveLength(1))
  // Messages pulled before still arrive: that many and no more.
  state.mayAsk = false
  await publish(64_000, 40)
  await eventually(() => expect(bytesOf(taken)).toBeGreaterThan(PULL_BYTES_MAX / 2))
  await publish(1_000, 1)
  expect(bytesOf(taken)).toBeLessThanOrEqual(PULL_BYTES_MAX)
  state.mayAsk = true
  await eventually(() => {
    pull.look()
    expect(taken).toHaveLength(42)
  })
})

test('a message larger than that part does not block the others', async () => {
  await using stack = new AsyncDisposableStack()
  const { pull, taken, publish } = await openPull(stack)
  await publish(PULL_BYTES_MAX + 100_000, 2)
  await publish(1_000, 3)
  await eventually(() => {
    pull.look()
    expect(taken.map(({ data }) => data.length)).toEqual([
      PULL_BYTES_MAX + 100_000,
      PULL_BYTES_MAX + 100_000,
      1_000,
      1_000,
      1_000,
    ])
  })
})

test('a consumer that is gone is made again only when the server has done deleting it', async () => {
  await using stack = new AsyncDisposableStack()
  const { manager, missedAt, taken, publish } = await openPull(stack)
  await publish(10, 1)
  await eventually(() => expect(taken).toHaveLength(1))
  const deletedAt = performance.now()
  await manager.streams.delete(DELIVERY_STREAM)
  await eventually(() => expect(missedAt).toHaveLength(2))
  expect((missedAt[1] ?? 0) - deletedAt).toBeGreaterThan(1_000)
  await eventually(async () => await publish(10, 1))
  await eventually(() => expect(taken).toHaveLength(2))
})

const NOW = Date.now()
const clock = { now: () => NOW }

/** A delivery as ingest publishes it, with a body of that size. */
function delivery(bodyBytes: number): Buffer {
  const event = encodeEvent(
    {
      id: newId(NOW),
      class: 90,
      organisationId: newId(NOW),
      projectId: newId(NOW),
      sourceId: newId(NOW),
      sourceName: 'test',
      verifiedWith: 'none',
      remoteIp: '192.0.2.7',
      headers: '[]',
    },
    Buffer.alloc(bodyBytes, 'x'),
  )
  return encodeDelivery(event, {
    id: newId(NOW),
    connectionId: newId(NOW),
    destinationId: newId(NOW),
    partition: PARTITION,
    maxAttempts: 8,
    leaseUntilMs: NOW + LEASE_MS,
  })
}

/** A worker's consumer, and the deliveries that it has taken. */
async function openStreamConsumer(
  stack: AsyncDisposableStack,
  deps: Pick<ConsumeDeps, 'nats' | 'manager' | 'log' | 'memory' | 'holdings'>,
) {
  const pool = openPool({ url: await cloneDatabase(stack), max: 1, log })
  stack.defer(async () => await pool.end())
  const inHand: Work[] = []
  const inFlight = new InFlight()
  const streamConsumer = new StreamConsumer({
    ...deps,
    clock,
    results: openResults({ pool, clock, log, name: 'test', expectDue: () => {} }),
    inFlight,
    lanes: {
      get inMemory() {
        return inHand.length
      },
      hasRoom: () => true,
      admit: (work) => void inHand.push(work),
    },
  })
  stack.defer(async () => await streamConsumer.stopAll())
  return { streamConsumer, inFlight, inHand }
}

test('consumers that cannot be made are tried now and then, and taken from when they can', async () => {
  await using stack = new AsyncDisposableStack()
  const { nats, manager, publish } = await openStream(stack)
  await manager.streams.delete(DELIVERY_STREAM)
  await manager.streams.add({ name: 'OTHER', subjects: [DELIVERY_SUBJECTS] })
  const warned: string[] = []
  const holds = [1, 2, 3, PARTITION].map((partition) => ({ partition, epoch: 1 }))
  const { streamConsumer, inHand } = await openStreamConsumer(stack, {
    nats,
    manager,
    log: pino({ level: 'warn' }, { write: (line) => void warned.push(line) }),
    memory: new ByteBudget(PULL_BYTES_MAX),
    holdings: {
      takenHoldOf: (partition) => holds.find((hold) => hold.partition === partition),
    },
  })
  const endAt = performance.now() + 1_500
  while (performance.now() < endAt) {
    await streamConsumer.look(holds)
    await sleep(20)
  }
  expect(warned.length).toBeGreaterThan(0)
  expect(warned.length).toBeLessThanOrEqual(2)
  await manager.streams.delete('OTHER')
  await eventually(async () => {
    await streamConsumer.look(holds)
    const { state } = await manager.streams.info(DELIVERY_STREAM)
    expect(state.consumer_count).toBe(holds.length)
  })
  // A message older than the pull would be claimed in PostgreSQL first.
  await sleep(1_500)
  await publish([packDeliveries([delivery(10)])])
  await eventually(() => expect(inHand).toHaveLength(1))
})

test('a worker asks for messages as long as there is room for them, and again when they are done', async () => {
  await using stack = new AsyncDisposableStack()
  const { nats, manager, publish } = await openStream(stack)
  const max = 4 * PULL_BYTES_MAX
  const memory = new ByteBudget(max)
  const hold = { partition: PARTITION, epoch: 1 }
  const { streamConsumer, inFlight, inHand } = await openStreamConsumer(stack, {
    nats,
    manager,
    log,
    memory,
    holdings: { takenHoldOf: () => hold },
  })
  await streamConsumer.look([hold])
  // A message older than the connection or the pull would be claimed in PostgreSQL first.
  await eventually(() => expect(connectedMs(nats)).toBeGreaterThan(2_000))
  const packs = Array.from({ length: 60 }, () => [delivery(60_000), delivery(60_000)])
  const count = packs.flat().length
  await publish(packs.map(packDeliveries))
  const done = new Set<string>()
  while (done.size < count) {
    await eventually(async () => {
      await streamConsumer.look([hold])
      expect(memory.hasRoom && done.size + inHand.length < count).toBe(false)
    })
    // Messages pulled before still arrive, and no more.
    for (let n = 0; n < 10; n++) {
      await streamConsumer.look([hold])
      await nats.flush()
    }
    expect(memory.reserved).toBeLessThanOrEqual(max + 2 * PULL_BYTES_MAX)
    for (const work of inHand.splice(0)) {
      done.add(work.deliveryId)
      inFlight.settle(work)
    }
    expect(memory.reserved).toBe(0)
  }
})

test('a worker that has a partition back claims only what came through a consumer that it has not met', async () => {
  await using stack = new AsyncDisposableStack()
  const { nats, manager, publish } = await openStream(stack)
  const hold = { partition: PARTITION, epoch: 1 }
  const { streamConsumer, inFlight, inHand } = await openStreamConsumer(stack, {
    nats,
    manager,
    log,
    memory: new ByteBudget(PULL_BYTES_MAX),
    holdings: { takenHoldOf: () => hold },
  })
  const messages = async (): Promise<number> =>
    (await manager.streams.info(DELIVERY_STREAM)).state.messages
  await streamConsumer.look([hold])
  await eventually(() => expect(connectedMs(nats)).toBeGreaterThan(2_000))

  await streamConsumer.look([])
  await publish([packDeliveries([delivery(10)])])
  await streamConsumer.look([hold])
  await eventually(() => expect(inHand).toHaveLength(1))
  for (const work of inHand.splice(0)) inFlight.settle(work)
  await eventually(async () => expect(await messages()).toBe(0))

  await streamConsumer.look([])
  await manager.consumers.delete(DELIVERY_STREAM, deliveryConsumer(PARTITION))
  await ensureDeliveryConsumer(manager, PARTITION)
  await publish([packDeliveries([delivery(10)])])
  await streamConsumer.look([hold])
  // It is in no table: what is claimed is dropped.
  await eventually(async () => expect(await messages()).toBe(0))
  expect(inHand).toHaveLength(0)
})

test('a consumer that gave no answer for as long as a request stands is one that it has not met', async () => {
  await using stack = new AsyncDisposableStack()
  const { server, nats, manager, publish } = await openStream(stack)
  const hold = { partition: PARTITION, epoch: 1 }
  const { streamConsumer, inHand } = await openStreamConsumer(stack, {
    nats,
    manager,
    log,
    memory: new ByteBudget(PULL_BYTES_MAX),
    holdings: { takenHoldOf: () => hold },
  })
  await streamConsumer.look([hold])
  await eventually(async () => {
    const consumer = await manager.consumers.info(DELIVERY_STREAM, deliveryConsumer(PARTITION))
    expect(consumer.num_waiting).toBe(1)
  })
  process.kill(server.pid, 'SIGSTOP')
  const endAt = performance.now() + 8_000
  while (performance.now() < endAt) {
    await streamConsumer.look([hold])
    await sleep(20)
  }
  process.kill(server.pid, 'SIGCONT')
  await publish([packDeliveries([delivery(10)])])
  // It is in no table: what is claimed is dropped.
  await eventually(async () => {
    await streamConsumer.look([hold])
    expect((await manager.streams.info(DELIVERY_STREAM)).state.messages).toBe(0)
  })
  expect(inHand).toHaveLength(0)
})
