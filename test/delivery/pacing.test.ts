import { afterAll, beforeAll, expect, test } from 'vitest'

import { mostInASecond, secondsBetween, timesOf } from '../kit/pace.ts'
import { eventually, SOON_MS, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

test('a destination at 10 a second with 30 queued gets them evenly, held ones throttled', async () => {
  const { source, destination, endpoint } = await relay.route({ destination: { rateLimit: 10 } })
  const ids = await relay.acceptMany(source, 30)
  await eventually(async () => {
    const { data } = await relay.get(
      `/v1/deliveries?status=throttled&destinationId=${destination.id}&limit=100`,
    )
    expect(data.length).toBeGreaterThanOrEqual(10)
    for (const one of data) {
      expect(one).toMatchObject({ throttledReason: 'rate_limit', attemptCount: 0 })
      expect(one.throttledAt).not.toBeNull()
    }
  }, 2_000)
  const done = await Promise.all(
    ids.map((id) => relay.reaches(id, { status: 'succeeded', attemptCount: 1 })),
  )
  expect(endpoint.arrivals).toHaveLength(30)
  const times = timesOf(done)
  expect(mostInASecond(times)).toBeLessThanOrEqual(12)
  expect(secondsBetween(times)).toBeGreaterThan(2.7)
  expect(secondsBetween(times)).toBeLessThan(4)
  // All were held but the first, and say so after their success too.
  expect(done.filter(({ throttledAt }) => throttledAt !== null).length).toBeGreaterThanOrEqual(27)
  expect(done.every(({ throttledReason }) => throttledReason === null)).toBe(true)
})

test('plan pacing of Hobby: 20 in any one second, 10 a second in the mean, over all destinations', async () => {
  const { key } = await relay.createTenant('hobby')
  const first = await relay.route({ key })
  const second = await relay.make('destinations', { url: first.endpoint.url }, key)
  await relay.make('connections', { sourceId: first.source.id, destinationId: second.id }, key)
  await relay.acceptMany(first.source, 18)
  const { data } = await eventually(async () => {
    const list = await relay.get('/v1/deliveries?status=succeeded&limit=100', key)
    expect(list.data).toHaveLength(36)
    return list
  })
  const times = timesOf(data)
  expect(mostInASecond(times)).toBeLessThanOrEqual(21)
  // A bucket of 10 goes at once, the other 26 at 10 a second.
  expect(secondsBetween(times)).toBeGreaterThan(2.3)
  expect(secondsBetween(times)).toBeLessThan(4)
  expect(data.filter((one: Resource) => one.throttledAt !== null).length).toBeGreaterThanOrEqual(24)
})

/** Waits until so many of the deliveries are done: the clock must not jump over an attempt under way. */
async function succeeds(ids: readonly string[], count: number): Promise<void> {
  await eventually(async () => {
    const states = await Promise.all(ids.map((id) => relay.deliveryOf(id)))
    expect(states.filter(({ status }) => status === 'succeeded')).toHaveLength(count)
    expect(states.filter(({ status }) => status === 'throttled')).toHaveLength(ids.length - count)
  })
}

const PERIODS: [period: string, everyMs: number][] = [
  ['minute', 30_000],
  ['hour', 1_800_000],
  ['day', 43_200_000],
]

test.each(PERIODS)('2 per %s: one goes, the next after half the time', async (period, everyMs) => {
  const { source, endpoint } = await relay.route({
    destination: { rateLimit: 2, rateLimitPeriod: period },
  })
  const ids = await relay.acceptMany(source, 3)
  await succeeds(ids, 1)
  await relay.advance(everyMs - 5_000)
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
  await relay.advance(5_500)
  await succeeds(ids, 2)
  await relay.advance(everyMs + 500)
  await succeeds(ids, 3)
  expect(endpoint.arrivals).toHaveLength(3)
  for (const id of ids) expect(await relay.deliveryOf(id)).toMatchObject({ attemptCount: 1 })
})

test('a changed limit takes effect on the waiting backlog within 2 s', async () => {
  const { source, destination, endpoint } = await relay.route({
    destination: { rateLimit: 1, rateLimitPeriod: 'hour' },
  })
  await relay.acceptMany(source, 6)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  await relay.change('destinations', destination.id, { rateLimit: 20, rateLimitPeriod: 'second' })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(6), SOON_MS)
})

test('a limit that is taken away sets the backlog free within 2 s', async () => {
  const { source, destination, endpoint } = await relay.route({
    destination: { rateLimit: 1, rateLimitPeriod: 'day' },
  })
  await relay.acceptMany(source, 6)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(1))
  await relay.change('destinations', destination.id, { rateLimit: null })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(6), SOON_MS)
})

test('a paced destination delays no other', async () => {
  const paced = await relay.route({ destination: { rateLimit: 1, rateLimitPeriod: 'hour' } })
  await relay.acceptMany(paced.source, 100)
  const quick = await relay.route()
  await relay.reaches(await relay.accept(quick.source), { status: 'succeeded' }, SOON_MS)
  expect(paced.endpoint.arrivals).toHaveLength(1)
})

test('a restart of the worker does not give a paced destination another go', async () => {
  const { source, endpoint } = await relay.route({
    destination: { rateLimit: 1, rateLimitPeriod: 'hour' },
  })
  await succeeds(await relay.acceptMany(source, 2), 1)
  await relay.stopWorker()
  await relay.startWorker()
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
  await relay.advance(3_600_000)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2), 8_000)
})

test('a parked backlog goes out oldest first, and what comes later goes behind it', async () => {
  const { source, destination, endpoint } = await relay.route({
    destination: { isEnabled: false, maxConcurrency: 1 },
  })
  const sent: string[] = []
  const send = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const body = String(sent.length)
      await relay.accept(source, { body })
      sent.push(body)
    }
  }
  await send(60)
  await eventually(async () => {
    const query = `status=pending&destinationId=${destination.id}&limit=100`
    const { data } = await relay.get(`/v1/deliveries?${query}`)
    const parked = data.filter((one: Resource) => one.lastError === 'destination_disabled')
    expect(parked).toHaveLength(60)
  })
  endpoint.respond = (response) => {
    setTimeout(() => response.end(), 3)
  }
  await relay.change('destinations', destination.id, { isEnabled: true })
  await send(20)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(80))
  const arrived = endpoint.arrivals.map(({ body }) => body.toString())
  expect(arrived.slice(0, 60)).toEqual(sent.slice(0, 60))
  expect(new Set(arrived)).toEqual(new Set(sent))
})
