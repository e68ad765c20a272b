import { afterAll, beforeAll, expect, test } from 'vitest'

import { hangs, inTurn, says } from '../kit/endpoint.ts'
import { setUsage, usageOf } from '../kit/limits.ts'
import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const retry = async (id: string): Promise<Resource> =>
  await relay.api('POST', `/v1/deliveries/${id}/retry`, {})

const replay = async (eventId: string, key?: string): Promise<Resource> =>
  await relay.api('POST', `/v1/events/${eventId}/replay`, undefined, {
    key: key ?? relay.key,
  })

const remove = async (path: string): Promise<void> => {
  const answer = await relay.api('DELETE', path)
  expect(answer.status).toBe(204)
}

/** A delivery in each state in which it waits. */
const WAITING: [name: string, make: () => Promise<{ route: Route; eventId: string }>][] = [
  [
    'a retry that waits for its time',
    async () => {
      const route = await relay.route({ respond: says(500) })
      const eventId = await relay.accept(route.source)
      await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
      return { route, eventId }
    },
  ],
  [
    'one that waits for its destination to be enabled',
    async () => {
      const route = await relay.route({ destination: { isEnabled: false } })
      const eventId = await relay.accept(route.source)
      await relay.reaches(eventId, { status: 'pending', lastError: 'destination_disabled' })
      return { route, eventId }
    },
  ],
  [
    'one held by pacing',
    async () => {
      const route = await relay.route({ destination: { rateLimit: 1, rateLimitPeriod: 'day' } })
      await relay.reaches(await relay.accept(route.source), { status: 'succeeded' })
      const eventId = await relay.accept(route.source)
      await relay.reaches(eventId, { status: 'throttled', throttledReason: 'rate_limit' })
      return { route, eventId }
    },
  ],
  [
    'one whose destination is busy',
    async () => {
      const route = await relay.route({ respond: says(429) })
      const eventId = await relay.accept(route.source)
      await relay.reaches(eventId, { status: 'throttled', throttledReason: 'destination_busy' })
      return { route, eventId }
    },
  ],
  [
    'a sibling of a busy one',
    async () => {
      const route = await relay.route({ respond: says(429) })
      await relay.reaches(await relay.accept(route.source), { status: 'throttled' })
      const eventId = await relay.accept(route.source)
      await relay.reaches(eventId, { status: 'pending', attemptCount: 0 })
      return { route, eventId }
    },
  ],
]

test.each(WAITING)('%s is cancelled when its connection is deleted', async (_name, make) => {
  const { route, eventId } = await make()
  const before = route.endpoint.arrivals.length
  await remove(`/v1/connections/${route.connection.id}`)
  const { id } = await relay.reaches(eventId, { status: 'cancelled', nextAttemptAt: null })
  await expectQuiet(route, before)
  const { data } = await relay.get('/v1/deliveries?status=cancelled&limit=100')
  expect(data).toContainEqual(expect.objectContaining({ id }))
})

test.each(WAITING)('%s is cancelled when its destination is deleted', async (_name, make) => {
  const { route, eventId } = await make()
  const before = route.endpoint.arrivals.length
  const path = `/v1/destinations/${route.destination.id}`
  expect(await relay.api('DELETE', path)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  await remove(`${path}?cascade=true`)
  await relay.reaches(eventId, { status: 'cancelled', nextAttemptAt: null })
  await expectQuiet(route, before)
})

test('a delivery that a worker parks while its connection is deleted is cancelled', async () => {
  const route = await relay.route({ respond: hangs, destination: { maxConcurrency: 1 } })
  await relay.accept(route.source)
  await eventually(() => expect(route.endpoint.arrivals).toHaveLength(1))
  const eventId = await relay.accept(route.source)
  const client = await relay.pool.connect()
  await client.query('begin')
  const lock = 'select from delivery where event_id = $1 for update'
  await client.query(lock, [uuid('evt', eventId)])
  await relay.change('destinations', route.destination.id, { isEnabled: false })
  await untilBlocked(relay.pool, 1)
  await remove(`/v1/connections/${route.connection.id}`)
  await client.query('commit')
  client.release()
  await relay.reaches(eventId, { status: 'cancelled' })
})

/** Nothing more arrives, although whatever waited would be due. */
async function expectQuiet({ endpoint }: Route, arrivals: number): Promise<void> {
  endpoint.respond = says(200)
  await relay.advance(86_400_000)
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(arrivals)
}

test('a deletion lets what is in flight end as it ends', async () => {
  const { source, connection, endpoint } = await relay.route({ respond: hangs })
  let answer: (() => void) | undefined
  endpoint.respond = (response) => {
    answer = () => response.end()
  }
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'in_flight' })
  await remove(`/v1/connections/${connection.id}`)
  answer?.()
  await relay.reaches(eventId, { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
})

test('a disabled destination: events are received, deliveries wait without an attempt, and go out', async () => {
  const { key, organisationId } = await relay.createTenant('hobby')
  const { source, destination, endpoint } = await relay.route({
    key,
    destination: { isEnabled: false },
  })
  const ids = await Promise.all(Array.from({ length: 5 }, () => relay.accept(source)))
  for (const id of ids) {
    await eventually(async () => {
      const event = await relay.get(`/v1/events/${id}`, key)
      expect(event.status).toBe('received')
      expect(event.deliveries).toMatchObject([
        {
          status: 'pending',
          lastError: 'destination_disabled',
          attemptCount: 0,
          lastAttempt: null,
        },
      ])
    })
  }
  expect(await usageOf(relay, organisationId)).toBe(5)
  expect(endpoint.arrivals).toHaveLength(0)
  await relay.api('POST', `/v1/destinations/${destination.id}/toggle`, { isEnabled: true }, { key })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(5))
  await eventually(async () => {
    const { data } = await relay.get('/v1/deliveries', key)
    for (const one of data) expect(one).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  })
})

test('a destination that is disabled while a retry waits holds it, and lets it go when enabled', async () => {
  const { source, destination, endpoint } = await relay.route({
    respond: inTurn(says(500), says(200)),
  })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await relay.change('destinations', destination.id, { isEnabled: false })
  await relay.advance(6_500)
  await relay.reaches(eventId, { status: 'pending', lastError: 'destination_disabled' })
  await relay.change('destinations', destination.id, { isEnabled: true })
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  expect(endpoint.arrivals).toHaveLength(2)
})

test('a disabled connection gets nothing new, and what it has still goes out', async () => {
  const { source, connection, endpoint } = await relay.route({
    respond: inTurn(says(500), says(200)),
  })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1 })
  await relay.change('connections', connection.id, { isEnabled: false })
  const after = await relay.get(`/v1/events/${await relay.accept(source)}`)
  expect(after).toMatchObject({ status: 'unmatched', deliveries: [] })
  await relay.advance(6_500)
  await relay.reaches(eventId, { status: 'succeeded', attemptCount: 2 })
  expect(endpoint.arrivals).toHaveLength(2)
})

test('a manual retry makes one attempt now, outside the budget: of a failed delivery', async () => {
  const { source, endpoint } = await relay.route({
    respond: says(500),
    destination: { retryPolicy: { strategy: 'schedule', maxAttempts: 1 } },
  })
  const eventId = await relay.accept(source)
  const { id } = await relay.reaches(eventId, { status: 'failed', attemptCount: 1 })
  expect(await retry(id)).toMatchObject({ status: 202, body: { id, status: 'pending' } })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  await relay.reaches(eventId, { status: 'failed', attemptCount: 1 })
  endpoint.respond = says(200)
  expect(await retry(id)).toMatchObject({ status: 202 })
  const { attempts } = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  expect(attempts).toMatchObject([
    { number: 1, trigger: 'initial', outcome: 'failed' },
    { number: 2, trigger: 'manual', outcome: 'failed' },
    { number: 3, trigger: 'manual', outcome: 'succeeded' },
  ])
  expect(endpoint.arrivals[2]?.headers['postern-attempt-trigger']).toBe('manual')
  expect(endpoint.arrivals[2]?.headers['webhook-id']).toBe(id)
  const { data } = await relay.get(`/v1/deliveries?status=failed&eventId=${eventId}`)
  expect(data).toEqual([])
})

test('a manual retry of a succeeded, a cancelled and a pending delivery', async () => {
  const done = await relay.route()
  const succeeded = await relay.accept(done.source)
  const { id } = await relay.reaches(succeeded, { status: 'succeeded' })
  expect(await retry(id)).toMatchObject({ status: 202 })
  await eventually(() => expect(done.endpoint.arrivals).toHaveLength(2))
  await relay.reaches(succeeded, { status: 'succeeded', attemptCount: 1 })

  const waiting = await relay.route({ respond: inTurn(says(500), says(200)) })
  const pending = await relay.accept(waiting.source)
  const held = await relay.reaches(pending, { status: 'pending', attemptCount: 1 })
  expect(await retry(held.id)).toMatchObject({ status: 202 })
  await relay.reaches(pending, { status: 'succeeded', attemptCount: 1 })
  await relay.advance(10_000)
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(waiting.endpoint.arrivals).toHaveLength(2)
})

test('a manual retry goes to a body that no message can carry', async () => {
  const { source, endpoint } = await relay.route()
  const body = 'x'.repeat(100 * 1_024)
  const eventId = await relay.accept(source, { body })
  const { id } = await relay.reaches(eventId, { status: 'succeeded' })
  await retry(id)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  expect(endpoint.arrivals[1]?.body.toString()).toBe(body)
})

test('a replay makes new deliveries for the connections of now, through their filters', async () => {
  const { source, destination, connection, endpoint } = await relay.route({
    source: { eventTypeField: 'body.type' },
  })
  const sent = { body: '{"type":"a"}', headers: { 'content-type': 'application/json' } }
  const eventId = await relay.accept(source, sent)
  const first = await relay.reaches(eventId, { status: 'succeeded' })
  await relay.connect(source, destination, { filter: { eventTypes: ['b'] } })
  const more = await relay.connect(source, destination)
  const answer = await replay(eventId)
  expect(answer).toMatchObject({ status: 202 })
  expect(answer.body.deliveries).toHaveLength(2)
  const connections = answer.body.deliveries.map((one: Resource) => one.connectionId)
  expect(new Set(connections)).toEqual(new Set([connection.id, more.id]))
  await eventually(() => expect(endpoint.arrivals).toHaveLength(3))
  for (const one of answer.body.deliveries) {
    expect(one).toMatchObject({ trigger: 'replay', eventId })
    expect(one.id).not.toBe(first.id)
    await eventually(async () => {
      expect(await relay.get(`/v1/deliveries/${one.id}`)).toMatchObject({
        status: 'succeeded',
        attemptCount: 1,
      })
    })
  }
  expect(endpoint.arrivals.map(({ body }) => body.toString())).toEqual(
    Array.from({ length: 3 }, () => sent.body),
  )
})

test('a replay of an event that met no connection goes to those that are there now', async () => {
  const source = await relay.make('sources', {})
  const eventId = await relay.accept(source)
  expect(await replay(eventId)).toMatchObject({ status: 202, body: { deliveries: [] } })
  const endpoint = await relay.endpoint()
  await relay.connect(source, await relay.make('destinations', { url: endpoint.url }))
  expect(await replay(eventId)).toMatchObject({ status: 202 })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
})

test('a rejected event is never delivered and cannot be replayed', async () => {
  const { source, endpoint } = await relay.route({
    source: { verifier: { preset: 'github', secret: 'a-secret-of-enough-length' } },
  })
  expect(await relay.send(source)).toMatchObject({ status: 401 })
  const { data } = await relay.get(`/v1/events?sourceId=${source.id}`)
  expect(await replay(data[0].id)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  expect(endpoint.arrivals).toHaveLength(0)
})

test('a replay at the quota of a hard-capped plan is QUOTA_EXCEEDED; a retry is free', async () => {
  const { key, organisationId } = await relay.createTenant('hobby')
  const { source, endpoint } = await relay.route({ key })
  const eventId = await relay.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  await setUsage(relay, organisationId, 10_000)
  expect(await replay(eventId, key)).toMatchObject({
    status: 429,
    body: { code: 'QUOTA_EXCEEDED', data: { limit: 10_000, current: 10_000 } },
  })
  const delivery = await eventually(async () => {
    const [one] = (await relay.get(`/v1/events/${eventId}`, key)).deliveries
    expect(one.status).toBe('succeeded')
    return one
  })
  const path = `/v1/deliveries/${delivery.id}/retry`
  expect(await relay.api('POST', path, {}, { key })).toMatchObject({ status: 202 })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  expect(await usageOf(relay, organisationId)).toBe(10_000)
})
