import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  encodeDelivery,
  encodeEvent,
  packDeliveries,
} from '../../core/jetstream/delivery-message.ts'
import { deliverySubject } from '../../core/jetstream/stream-subjects.ts'
import { LEASE_MS } from '../../core/limits.ts'
import { hangs, says, type Endpoint, type Respond } from '../kit/endpoint.ts'
import {
  eventually,
  SOON_MS,
  startRelay,
  type Relay,
  type Resource,
  type Route,
} from '../kit/relay.ts'
import { seedRoute, seedDelivery, seedEvent, uuid } from '../kit/seed.ts'
import { startWorld } from '../kit/world.ts'

/** Past the lease of a first attempt and the margin of the sweep. */
const SWEPT_MS = 21_000

/** Everything included; a test that starts its worker later has a relay of its own. */
let running: Relay
beforeAll(async () => {
  running = await startRelay()
})
afterAll(async () => await running[Symbol.asyncDispose]())

async function cancel(relay: Relay, id: string): Promise<Resource> {
  const path = `/v1/deliveries/${id}/cancel`
  const answer = await relay.api('POST', path)
  return answer
}

async function idOf(relay: Relay, eventId: string): Promise<string> {
  return (await relay.deliveryOf(eventId)).id
}

/** Cancels, and reads what the answer and the delivery say. */
async function expectCancelled(relay: Relay, eventId: string): Promise<string> {
  const id = await idOf(relay, eventId)
  const { status, body } = await cancel(relay, id)
  const expected = {
    id,
    status: 'cancelled',
    nextAttemptAt: null,
    throttledReason: null,
    completedAt: expect.any(String),
  }
  expect(body).toMatchObject(expected)
  expect(status).toBe(202)
  expect(await relay.get(`/v1/deliveries/${id}`)).toMatchObject(expected)
  const listed = await relay.get(`/v1/deliveries?status=cancelled&eventId=${eventId}`)
  const newest = await relay.get('/v1/deliveries?status=cancelled&limit=100')
  for (const { data } of [listed, newest])
    expect(data).toContainEqual(expect.objectContaining({ id }))
  return id
}

/** The events of what reached an endpoint. */
function arrived({ arrivals }: Endpoint): unknown[] {
  return arrivals.map(({ headers }) => headers['postern-event-id'])
}

/** Whatever was to be sent by now, or ever, has been: leases, retries and sweeps included. */
async function settle(relay: Relay): Promise<void> {
  for (const ms of [SWEPT_MS, 86_400_000]) {
    await relay.advance(ms)
    const { source } = await relay.route()
    await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  }
}

/** Holds answers back until told to give them. */
function gate(): { respond: Respond; open: () => void } {
  const held: (() => void)[] = []
  let isOpen = false
  return {
    respond: (response) => {
      if (isOpen) response.end()
      else held.push(() => response.end())
    },
    open: () => {
      isOpen = true
      for (const answer of held) answer()
    },
  }
}

test('POST /deliveries/{id}/cancel cancels a delivery parked by pacing, which is never sent', async () => {
  const relay = running
  const { source, endpoint } = await relay.route({
    destination: { rateLimit: 1, rateLimitPeriod: 'hour' },
  })
  const first = await relay.accept(source)
  await relay.reaches(first, { status: 'succeeded' })
  const ids = [await relay.accept(source), await relay.accept(source)]
  for (const id of ids) await relay.reaches(id, { status: 'throttled' })
  const [held = '', kept = ''] = ids
  await expectCancelled(relay, held)
  expect(await relay.deliveryOf(held)).toMatchObject({ throttledAt: expect.any(String) })
  await relay.advance(3_600_000)
  await relay.reaches(kept, { status: 'succeeded' }, 8_000)
  await settle(relay)
  expect(arrived(endpoint)).toEqual([first, kept])
})

test('a delivery that waits for a disabled destination is cancelled and never sent', async () => {
  const relay = running
  const { source, destination, endpoint } = await relay.route({ destination: { isEnabled: false } })
  const ids = [await relay.accept(source), await relay.accept(source)]
  for (const id of ids) await relay.reaches(id, { lastError: 'destination_disabled' })
  const [gone = '', kept = ''] = ids
  await expectCancelled(relay, gone)
  await relay.change('destinations', destination.id, { isEnabled: true })
  await relay.reaches(kept, { status: 'succeeded' })
  await settle(relay)
  expect(arrived(endpoint)).toEqual([kept])
})

test('a retry that waits for its time is cancelled and never sent', async () => {
  const relay = running
  const { source, endpoint } = await relay.route({ respond: says(500) })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await expectCancelled(relay, eventId)
  endpoint.respond = says(200)
  await settle(relay)
  expect(endpoint.arrivals).toHaveLength(1)
  expect(await relay.deliveryOf(eventId)).toMatchObject({
    status: 'cancelled',
    lastAttempt: { responseStatus: 500 },
  })
})

test('a delivery to a busy destination, and a sibling that waits with it, are cancelled and never sent', async () => {
  const relay = running
  const { source, endpoint } = await relay.route({ respond: says(503 - 1) })
  const busy = await relay.accept(source)
  await relay.reaches(busy, { status: 'throttled', throttledReason: 'destination_busy' })
  const sibling = await relay.accept(source)
  await relay.reaches(sibling, { status: 'pending', attemptCount: 0 })
  await expectCancelled(relay, busy)
  await expectCancelled(relay, sibling)
  endpoint.respond = says(200)
  await settle(relay)
  expect(arrived(endpoint)).toEqual([busy])
})

test('first deliveries behind a full lane are cancelled and never sent; one in flight is 409', async () => {
  const relay = running
  const { respond, open } = gate()
  const { source, endpoint } = await relay.route({ destination: { maxConcurrency: 1 }, respond })
  const sent: string[] = []
  for (let n = 0; n < 12; n++) sent.push(await relay.accept(source))
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  const [flying] = arrived(endpoint)
  const id = await idOf(relay, String(flying))
  // Its row says `pending` for a second; the worker knows better.
  const { body } = await cancel(relay, id)
  expect(body).toMatchObject({ code: 'CONFLICT', status: 409 })
  expect(body.message).toContain('in flight')
  const gone = sent.filter((one, n) => one !== flying && n % 2 === 0)
  for (const one of gone) await expectCancelled(relay, one)
  open()
  const kept = sent.filter((one) => !gone.includes(one))
  for (const one of kept) await relay.reaches(one, { status: 'succeeded' })
  await settle(relay)
  expect(new Set(arrived(endpoint))).toEqual(new Set(kept))
  expect(endpoint.arrivals).toHaveLength(kept.length)
  for (const one of gone) expect(await relay.deliveryOf(one)).toMatchObject({ status: 'cancelled' })
})

test('deliveries claimed from PostgreSQL into a full lane are cancelled and never sent', async () => {
  const relay = running
  const { respond, open } = gate()
  const { source, destination, endpoint } = await relay.route({
    destination: { maxConcurrency: 1, isEnabled: false },
    respond,
  })
  const sent: string[] = []
  for (let n = 0; n < 6; n++) sent.push(await relay.accept(source))
  for (const one of sent) await relay.reaches(one, { lastError: 'destination_disabled' })
  await relay.change('destinations', destination.id, { isEnabled: true })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  const gone = sent.slice(2, 4)
  for (const one of gone) await expectCancelled(relay, one)
  open()
  for (const one of sent.slice(4)) await relay.reaches(one, { status: 'succeeded' })
  await settle(relay)
  expect(arrived(endpoint)).toEqual(sent.filter((one) => !gone.includes(one)))
})

test('a delivery still in the stream is cancelled and never sent, without waiting for a worker', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  const gone = await relay.accept(source)
  const kept = await relay.accept(source)
  await expectCancelled(relay, gone)
  await relay.startWorker()
  await relay.reaches(kept, { status: 'succeeded' })
  await settle(relay)
  expect(arrived(endpoint)).toEqual([kept])
})

/** A delivery as ingest stores it, and the function that publishes its message, which the worker need not claim. */
async function storeUnpublished(
  relay: Relay,
  { source, connection, destination }: Route,
): Promise<{ id: string; publish: () => void }> {
  const { organisationId, projectId } = relay
  const nowMs = relay.clock.now()
  const leaseUntilMs = nowMs + LEASE_MS + 5_000
  const ends = {
    sourceId: source.id,
    connectionId: connection.id,
    destinationId: destination.id,
  }
  const eventId = await seedEvent(relay, ends)
  const leaseUntil = new Date(leaseUntilMs)
  const id = await seedDelivery(relay, { ...ends, eventId, status: 'pending', leaseUntil })
  const event = encodeEvent(
    {
      id: uuid('evt', eventId),
      class: 90,
      organisationId: uuid('org', organisationId),
      projectId: uuid('prj', projectId),
      sourceId: uuid('src', source.id),
      sourceName: 'x',
      verifiedWith: 'none',
      remoteIp: '',
      headers: '[]',
    },
    Buffer.from('{}'),
  )
  const delivery = encodeDelivery(event, {
    id: uuid('dlv', id),
    connectionId: uuid('con', connection.id),
    destinationId: uuid('dst', destination.id),
    partition: 0,
    maxAttempts: 8,
    leaseUntilMs,
  })
  return { id, publish: () => relay.nats.publish(deliverySubject(0), packDeliveries([delivery])) }
}

test('a message that reaches the worker after the cancellation is not sent', async () => {
  const relay = running
  const route = await relay.route()
  const gone = await storeUnpublished(relay, route)
  const kept = await storeUnpublished(relay, route)
  expect((await cancel(relay, gone.id)).status).toBe(202)
  gone.publish()
  kept.publish()
  await eventually(() => expect(route.endpoint.arrivals).toHaveLength(1))
  await settle(relay)
  const sent = route.endpoint.arrivals.map(({ headers }) => headers['postern-delivery-id'])
  expect(sent).toEqual([kept.id])
  expect(await relay.get(`/v1/deliveries/${gone.id}`)).toMatchObject({ status: 'cancelled' })
})

test('under load each delivery is either cancelled or sent, never both', async () => {
  const relay = running
  const { source, endpoint } = await relay.route({
    destination: { maxConcurrency: 4 },
    respond: (response) => {
      setTimeout(() => response.end(), 5)
    },
  })
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const eventId = await relay.accept(source)
      const { status } = await cancel(relay, await idOf(relay, eventId))
      const seen = new Set(arrived(endpoint))
      return { eventId, status, wasSent: seen.has(eventId) }
    }),
  )
  await settle(relay)
  const sent = arrived(endpoint)
  expect(new Set(sent).size).toBe(sent.length)
  for (const { eventId, status } of outcomes) {
    expect([202, 409]).toContain(status)
    expect(sent.includes(eventId), `${eventId} ${status}`).toBe(status === 409)
    const expected = status === 202 ? 'cancelled' : 'succeeded'
    expect((await relay.deliveryOf(eventId)).status).toBe(expected)
  }
})

test('a cancelled delivery can be retried, at once', async () => {
  const relay = running
  const { respond, open } = gate()
  const { source, endpoint } = await relay.route({ destination: { maxConcurrency: 1 }, respond })
  await relay.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  const eventId = await relay.accept(source)
  const id = await expectCancelled(relay, eventId)
  open()
  expect((await relay.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(202)
  await relay.reaches(eventId, { status: 'succeeded' }, SOON_MS)
  expect(endpoint.arrivals).toHaveLength(2)
})

test('only waiting deliveries can be cancelled, and each cancellation is audited once', async () => {
  await using world = await startWorld()
  const shop = await seedRoute(world, 'shop')
  const eventId = await seedEvent(world, shop)
  const now = world.clock.now()
  const states: [status: string, seed: object, expected: number][] = [
    ['pending', { nextAt: new Date(now + 60_000) }, 202],
    ['pending', { nextAt: null }, 202],
    ['throttled', { nextAt: null, throttledReason: 'rate_limit' }, 202],
    ['pending', { leaseUntil: new Date(now + 15_000) }, 202],
    ['pending', { nextAt: new Date(now + 9_000), claimedBy: 'dead' }, 202],
    ['in_flight', { nextAt: new Date(now + 9_000), claimedBy: 'worker' }, 409],
    ['succeeded', {}, 409],
    ['failed', {}, 409],
    ['cancelled', {}, 409],
  ]
  for (const [status, seed, expected] of states) {
    const id = await seedDelivery(world, { ...shop, eventId, status, ...seed })
    const first = await world.api('POST', `/v1/deliveries/${id}/cancel`, {})
    expect(first.status, status).toBe(expected)
    expect(first.body).toMatchObject(
      expected === 202
        ? { id, status: 'cancelled' }
        : {
            code: 'CONFLICT',
            message: `Cannot cancel delivery: it is ${status.replace('_', ' ')}`,
          },
    )
    const second = await world.api('POST', `/v1/deliveries/${id}/cancel`)
    expect(second.body).toMatchObject({ code: 'CONFLICT', status: 409 })
    const rows = await world.db
      .selectFrom('audit')
      .select('changes')
      .where('subject_id', '=', uuid('dlv', id))
      .execute()
    expect(rows).toEqual(expected === 202 ? [{ changes: { status } }] : [])
  }
  const { rows } = await world.pool.query('select status from delivery_waiting')
  expect(rows).toEqual([{ status: 'in_flight' }])
})

test('a worker that does not answer makes a cancellation 503: it may have the delivery', async () => {
  await using relay = await startRelay({ worker: false })
  const { source, endpoint } = await relay.route()
  const eventId = await relay.accept(source)
  const frozen = { id: crypto.randomUUID(), role: 'worker', name: 'frozen' }
  const seen = { ...frozen, seen_at: new Date(relay.clock.now()) }
  await relay.db.insertInto('process').values(seen).execute()
  const path = `/v1/deliveries/${await idOf(relay, eventId)}/cancel`
  const answer = await relay.api('POST', path)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(await relay.deliveryOf(eventId)).toMatchObject({ status: 'pending' })
  // A delivery that no worker can have needs no answer of a worker.
  const parked = await relay.route({ respond: hangs })
  await relay.db.deleteFrom('process').where('role', '=', 'worker').execute()
  expect(parked.endpoint.arrivals).toHaveLength(0)
  await expectCancelled(relay, eventId)
  expect(endpoint.arrivals).toHaveLength(0)
})

/** Resources to delete, and their paths. */
const DELETIONS: [what: string, path: (route: Route) => string][] = [
  ['connection', ({ connection }) => `/v1/connections/${connection.id}`],
  ['source', ({ source }) => `/v1/sources/${source.id}?cascade=true`],
  ['destination', ({ destination }) => `/v1/destinations/${destination.id}?cascade=true`],
]

test.each(DELETIONS)(
  'first messages of a deleted %s in the stream are cancelled, not sent',
  async (_what, path) => {
    await using relay = await startRelay({ worker: false })
    const route = await relay.route()
    const ids = [await relay.accept(route.source), await relay.accept(route.source)]
    expect((await relay.api('DELETE', path(route))).status).toBe(204)
    await relay.startWorker()
    for (const id of ids) await relay.reaches(id, { status: 'cancelled' })
    expect(route.endpoint.arrivals).toHaveLength(0)
  },
)

test.each(DELETIONS)(
  'first messages of a deleted %s in a lane are cancelled, not sent',
  async (_what, path) => {
    const relay = running
    const { respond, open } = gate()
    const route = await relay.route({ destination: { maxConcurrency: 1 }, respond })
    const ids: string[] = []
    for (let n = 0; n < 8; n++) ids.push(await relay.accept(route.source))
    await eventually(() => expect(route.endpoint.arrivals).toHaveLength(1))
    const [flying] = arrived(route.endpoint)
    expect((await relay.api('DELETE', path(route))).status).toBe(204)
    open()
    for (const id of ids) {
      await relay.reaches(id, { status: id === flying ? 'succeeded' : 'cancelled' })
    }
    await settle(relay)
    expect(arrived(route.endpoint)).toEqual([flying])
  },
)

test.each(DELETIONS)(
  'a message that comes after its %s was deleted is cancelled, not sent',
  async (_what, path) => {
    const relay = running
    const route = await relay.route()
    await relay.reaches(await relay.accept(route.source), { status: 'succeeded' })
    const { id, publish } = await storeUnpublished(relay, route)
    expect((await relay.api('DELETE', path(route))).status).toBe(204)
    publish()
    await eventually(async () => {
      expect(await relay.get(`/v1/deliveries/${id}`)).toMatchObject({ status: 'cancelled' })
    })
    expect(route.endpoint.arrivals).toHaveLength(1)
  },
)
