import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { LANE_LARGE_BODY_BYTES_MAX, ORGANISATION_LARGE_BODY_BYTES_MAX } from '../../core/limits.ts'
import type { Endpoint } from '../kit/endpoint.ts'
import { mostInASecond, timesOf } from '../kit/pace.ts'
import {
  eventually,
  startRelay,
  type Relay,
  type Resource,
  type WorkerProcess,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const LARGE = 5 * 1_024 * 1_024
const WORK = 'postern_worker_held_bytes'
const LARGE_BODIES = 'postern_worker_large_body_bytes'

let relay: Relay
let worker: WorkerProcess
beforeAll(async () => {
  relay = await startRelay({ worker: false })
  worker = await relay.openWorker('worker')
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const digest = (body: Buffer): string => createHash('sha256').update(body).digest('hex')

/** A destination that answers late, and keeps only the digests of what it got. */
async function slowEndpoint(lateMs: number): Promise<{ endpoint: Endpoint; digests: string[] }> {
  const digests: string[] = []
  const endpoint = await relay.endpoint((response, arrival) => {
    digests.push(digest(arrival.body))
    arrival.body = Buffer.alloc(0)
    setTimeout(() => response.end(), lateMs)
  })
  return { endpoint, digests }
}

/** The most that a metric of the worker shows until disposed of. */
function watch(name: string): Disposable & { max(): number } {
  let max = 0
  const timer = setInterval(() => {
    void worker.metric(name).then((value) => {
      max = Math.max(max, value)
      return undefined
    })
  }, 2)
  return { max: () => max, [Symbol.dispose]: () => clearInterval(timer) }
}

/** Sends so many large bodies to a source, no two alike; returns their digests. */
async function sendMany(source: Resource, count: number): Promise<string[]> {
  const sent: string[] = []
  for (let n = 0; n < count; n++) {
    const body = Buffer.from(randomBytes(LARGE / 2).toString('hex'))
    sent.push(digest(body))
    await relay.accept(source, { body })
  }
  return sent
}

async function parked(destinationId: string, count: number): Promise<void> {
  await eventually(async () => {
    const query = `status=pending&destinationId=${destinationId}&limit=100`
    const { data } = await relay.get(`/v1/deliveries?${query}`)
    const waiting = data.filter((one: Resource) => one.lastError === 'destination_disabled')
    expect(waiting).toHaveLength(count)
  }, 20_000)
}

/** All that the worker counted as held is given back. */
async function nothingHeld(): Promise<void> {
  await eventually(async () => {
    expect(await worker.metric(WORK)).toBe(0)
    expect(await worker.metric(LARGE_BODIES)).toBe(0)
  })
}

test(
  'large bodies that wait for several destinations are in memory within the budget, and arrive as they came',
  { timeout: 120_000 },
  async () => {
    const source = await relay.make('sources', { maxPayloadSizeKb: 5_120 })
    const ends: { id: string; digests: string[] }[] = []
    for (let n = 0; n < 6; n++) {
      const { endpoint, digests } = await slowEndpoint(300)
      const to = { url: endpoint.url, timeoutMs: 60_000, isEnabled: false }
      const destination = await relay.make('destinations', to)
      await relay.connect(source, destination)
      ends.push({ id: destination.id, digests })
    }
    const sent = await sendMany(source, 5)
    for (const { id } of ends) await parked(id, sent.length)
    expect(await worker.metric(LARGE_BODIES)).toBe(0)

    using held = watch(LARGE_BODIES)
    await Promise.all(
      ends.map(async ({ id }) => await relay.change('destinations', id, { isEnabled: true })),
    )
    for (const { digests } of ends) {
      await eventually(() => expect(digests.toSorted()).toEqual(sent.toSorted()), 60_000)
    }
    expect(held.max()).toBeLessThanOrEqual(ORGANISATION_LARGE_BODY_BYTES_MAX)
    // The budget was what held them back.
    expect(held.max()).toBeGreaterThan(ORGANISATION_LARGE_BODY_BYTES_MAX - 2 * LARGE)
    await nothingHeld()
  },
)

test(
  'large bodies due for one paced destination take its part of the budget, and its pace is kept',
  { timeout: 120_000 },
  async () => {
    const { endpoint, digests } = await slowEndpoint(500)
    const source = await relay.make('sources', { maxPayloadSizeKb: 5_120 })
    const to = { url: endpoint.url, timeoutMs: 60_000, rateLimit: 10 }
    await relay.connect(source, await relay.make('destinations', to))
    using held = watch(LARGE_BODIES)
    const eventId = await relay.accept(source, { body: Buffer.alloc(LARGE, 'p') })
    for (let n = 0; n < 24; n++) {
      const { status } = await relay.api('POST', `/v1/events/${eventId}/replay`)
      expect(status).toBe(202)
    }
    await eventually(() => expect(digests).toHaveLength(25), 60_000)
    expect(new Set(digests)).toEqual(new Set([digest(Buffer.alloc(LARGE, 'p'))]))
    expect(held.max()).toBeLessThanOrEqual(LANE_LARGE_BODY_BYTES_MAX)
    expect(held.max()).toBeGreaterThanOrEqual(LARGE)
    const sent = await eventually(async () => {
      const { data } = await relay.get(
        `/v1/deliveries?status=succeeded&eventId=${eventId}&limit=100`,
      )
      expect(data).toHaveLength(25)
      return data
    })
    expect(mostInASecond(timesOf(sent))).toBeLessThanOrEqual(12)
    await nothingHeld()
  },
)

/** A port that is listened to, and whose connections past the first ones nobody accepts. */
async function stuckPort(stack: DisposableStack): Promise<number> {
  const listening = `const server = require('node:net').createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      process.stdout.write(String(server.address().port), () =>
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
    })`
  const child = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'inherit'] })
  stack.defer(() => child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  return Number(port)
}

test('an attempt whose time was over before it had a connection gives its room back', async () => {
  using stack = new DisposableStack()
  const url = `http://127.0.0.1:${await stuckPort(stack)}/`
  const source = await relay.make('sources', { maxPayloadSizeKb: 5_120 })
  const to = { url, timeoutMs: 1_000, retryPolicy: { maxAttempts: 1 } }
  await relay.connect(source, await relay.make('destinations', to))
  const ids: string[] = []
  for (let n = 0; n < 4; n++) {
    ids.push(await relay.accept(source, { body: Buffer.alloc(LARGE, 's') }))
  }
  for (const id of ids) await relay.reaches(id, { status: 'failed', lastError: 'timeout' }, 15_000)
  await eventually(async () => expect(await worker.metric(LARGE_BODIES)).toBe(0))
})

test('a delivery that is cancelled while its body is read is not sent', async () => {
  const { source, endpoint } = await relay.route()
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  await worker.stop()
  const eventId = await relay.accept(source, { body: Buffer.alloc(100_000, 'c') })
  const { id } = await relay.deliveryOf(eventId)
  // Whoever reads events waits until this transaction ends.
  const lock = await relay.pool.connect()
  await lock.query('begin')
  await lock.query('lock table event in access exclusive mode')
  worker = await relay.openWorker('worker')
  await eventually(async () => expect(await worker.metric(LARGE_BODIES)).toBeGreaterThan(0))
  const cancelled = await relay.api('POST', `/v1/deliveries/${id}/cancel`)
  await lock.query('commit')
  lock.release()
  expect(cancelled.status).toBe(202)
  await nothingHeld()
  expect(await relay.deliveryOf(eventId)).toMatchObject({ status: 'cancelled', attemptCount: 0 })
  expect(endpoint.arrivals).toHaveLength(1)
})

test('a large delivery whose event is gone is cancelled, and takes no room', async () => {
  await worker.stop()
  const { source, endpoint } = await relay.route()
  const eventId = await relay.accept(source, { body: Buffer.alloc(100_000, 'g') })
  const { id } = await relay.deliveryOf(eventId)
  await sql`delete from event where id = ${uuid('evt', eventId)}`.execute(relay.db)
  worker = await relay.openWorker('worker')
  // It is given back twice, and found when its lease is over.
  await eventually(async () => {
    await relay.advance(1_000)
    expect(await relay.get(`/v1/deliveries/${id}`)).toMatchObject({ status: 'cancelled' })
  }, 15_000)
  expect(endpoint.arrivals).toHaveLength(0)
  await nothingHeld()
})
