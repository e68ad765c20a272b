import { afterAll, beforeAll, expect, test } from 'vitest'

import { HOUR_MS } from '../../core/clock.ts'
import { hangs, says, type Endpoint } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const BUSY = says(429, { 'retry-after': '3600' })
const POLICY = { strategy: 'schedule', scheduleSeconds: [3_600], maxAttempts: 2 }

type Former = 'succeeded' | 'failed' | 'cancelled' | 'pending'
type How = 'manual' | 'bulk'

interface Case {
  source: Resource
  destination: Resource
  endpoint: Endpoint
  eventId: string
  /** The delivery as it was before it was retried. */
  before: Resource
}

async function retry(how: How, { id, eventId }: Resource): Promise<void> {
  const asked =
    how === 'manual'
      ? await relay.api('POST', `/v1/deliveries/${id}/retry`)
      : await relay.api('POST', '/v1/operations', { kind: 'retry', filter: { eventId } })
  expect(asked.status).toBe(202)
}

/** A delivery that has come to what is asked for. */
async function formerly(status: Former, destination: object = {}): Promise<Case> {
  const {
    source,
    destination: made,
    endpoint,
  } = await relay.route({
    respond: says(status === 'succeeded' ? 200 : 500),
    destination: {
      retryPolicy: { ...POLICY, maxAttempts: status === 'failed' ? 1 : 2 },
      ...destination,
    },
  })
  const eventId = await relay.accept(source)
  const now = status === 'cancelled' ? 'pending' : status
  const { id } = await relay.reaches(eventId, { status: now, attemptCount: 1 })
  if (status === 'cancelled') await relay.api('POST', `/v1/deliveries/${id}/cancel`)
  const before = await relay.get(`/v1/deliveries/${id}`)
  expect(before.status).toBe(status)
  return { source, destination: made, endpoint, eventId, before }
}

/** The delivery once it has had that many attempts and none is under way. */
async function after(attempts: number, { eventId }: { eventId: string }): Promise<Resource> {
  return await eventually(async () => {
    const delivery = await relay.deliveryOf(eventId)
    expect(delivery.attempts).toHaveLength(attempts)
    // Attempts are read after their delivery: the next look has both.
    const settled = await relay.deliveryOf(eventId)
    expect(settled.status).not.toBe('in_flight')
    return settled
  })
}

const FORMER: Former[] = ['succeeded', 'failed', 'cancelled', 'pending']
const FAILURES: [name: string, respond: ReturnType<typeof says>, outcome: string][] = [
  ['500', says(500), 'failed'],
  ['429', BUSY, 'busy'],
  ['503 without an end', (response) => void response.destroy(), 'failed'],
]

test.for(
  FORMER.flatMap((former) =>
    (['manual', 'bulk'] as const).flatMap((how) =>
      FAILURES.map(([name, respond, outcome]) => ({ former, how, name, respond, outcome })),
    ),
  ),
)(
  'a delivery that was $former is that again after one $how attempt that got $name',
  async ({ former, how, respond, outcome }) => {
    const given = await formerly(former)
    given.endpoint.respond = respond
    await retry(how, given.before)
    const delivery = await after(2, given)
    expect(delivery).toMatchObject({
      status: former,
      attemptCount: 1,
      maxAttempts: given.before.maxAttempts,
      nextAttemptAt: given.before.nextAttemptAt,
      completedAt: given.before.completedAt,
      throttledReason: null,
      throttledAt: null,
      attempts: [{ trigger: 'initial' }, { number: 2, trigger: how, outcome }],
    })
    expect(delivery.lastError === null).toBe(former === 'succeeded')
    const listed = await relay.get(`/v1/deliveries?eventId=${given.eventId}&status=${former}`)
    expect(listed.data).toHaveLength(1)
    const byStatus = await relay.get(
      `/v1/deliveries?destinationId=${given.destination.id}&status=${former}`,
    )
    expect(byStatus.data).toHaveLength(1)
  },
)

test.for(FORMER)(
  'a delivery that was %s is succeeded when one manual attempt succeeds',
  async (former) => {
    const given = await formerly(former)
    given.endpoint.respond = says(200)
    await retry('manual', given.before)
    expect(await after(2, given)).toMatchObject({
      status: 'succeeded',
      attemptCount: 1,
      nextAttemptAt: null,
    })
  },
)

test('a failed manual attempt takes none of the budget of a pending delivery, which goes on at its time', async () => {
  const given = await formerly('pending')
  await retry('manual', given.before)
  await after(2, given)
  await relay.advance(Date.parse(given.before.nextAttemptAt) - relay.clock.now() + 1_000)
  expect(await after(3, given)).toMatchObject({ status: 'failed', attemptCount: 2, maxAttempts: 2 })
})

test('two retries that come at once are one attempt, and the schedule is kept', async () => {
  const given = await formerly('pending')
  const { id, nextAttemptAt } = given.before
  const answers = await Promise.all([
    relay.api('POST', `/v1/deliveries/${id}/retry`),
    relay.api('POST', `/v1/deliveries/${id}/retry`),
  ])
  for (const { status } of answers) expect([202, 409]).toContain(status)
  expect(await after(2, given)).toMatchObject({ status: 'pending', nextAttemptAt })
})

test('a delivery retried while its destination is disabled waits, and returns to its former state if the attempt fails', async () => {
  const given = await formerly('succeeded')
  given.endpoint.respond = says(500)
  const path = `/v1/destinations/${given.destination.id}/toggle`
  await relay.api('POST', path, { isEnabled: false })
  await retry('manual', given.before)
  await relay.reaches(given.eventId, { status: 'pending', lastError: 'destination_disabled' })
  await retry('manual', given.before)
  await relay.api('POST', path, { isEnabled: true })
  expect(await after(2, given)).toMatchObject({
    status: 'succeeded',
    completedAt: given.before.completedAt,
  })
})

test('a paced delivery returns to its former state if its manual attempt fails', async () => {
  const given = await formerly('failed', { rateLimit: 1, rateLimitPeriod: 'minute' })
  await retry('manual', given.before)
  await relay.reaches(given.eventId, { status: 'throttled', throttledReason: 'rate_limit' })
  await relay.advance(61_000)
  expect(await after(2, given)).toMatchObject({ status: 'failed', attemptCount: 1 })
})

test('a manual attempt that is told 410 disables the destination, and its delivery is what it was', async () => {
  const given = await formerly('succeeded')
  given.endpoint.respond = says(410)
  await retry('manual', given.before)
  expect(await after(2, given)).toMatchObject({ status: 'succeeded' })
  await eventually(async () => {
    const destination = await relay.get(`/v1/destinations/${given.destination.id}`)
    expect(destination).toMatchObject({ isEnabled: false, disabledReason: 'gone' })
  })
})

test('a delivery cancelled while its manual attempt is under way stays cancelled', async () => {
  const given = await formerly('failed')
  let answer: (() => void) | undefined
  given.endpoint.respond = (response) => {
    answer = () => void response.writeHead(500).end()
  }
  await retry('manual', given.before)
  await relay.reaches(given.eventId, { status: 'in_flight' })
  const { id } = given.before
  expect((await relay.api('POST', `/v1/deliveries/${id}/cancel`)).status).toBe(409)
  expect((await relay.api('POST', `/v1/deliveries/${id}/retry`)).status).toBe(409)
  answer?.()
  expect(await after(2, given)).toMatchObject({ status: 'failed' })
})

/** A destination that has just asked for an hour, and what waits behind it. */
async function busyRoute() {
  const made = await relay.route({ respond: BUSY, destination: { retryPolicy: POLICY } })
  const first = await relay.accept(made.source)
  const throttled = await relay.reaches(first, { status: 'throttled' })
  const second = await relay.accept(made.source)
  const waiting = await relay.reaches(second, { status: 'pending', nextAttemptAt: null })
  return { ...made, first, throttled, second, waiting }
}

test.for<How>(['manual', 'bulk'])(
  'a %s attempt does not wait for a busy window, and its success ends it',
  async (how) => {
    const { endpoint, waiting, second, source } = await busyRoute()
    const third = await relay.accept(source)
    endpoint.respond = says(500)
    await retry(how, waiting)
    const kept = await after(1, { eventId: second })
    expect(kept).toMatchObject({ status: 'pending', nextAttemptAt: null, attemptCount: 0 })
    expect(kept.attempts).toMatchObject([{ trigger: how, outcome: 'failed' }])
    expect(endpoint.arrivals).toHaveLength(2)
    endpoint.respond = says(200)
    await retry(how, waiting)
    await relay.reaches(second, { status: 'succeeded' })
    await relay.reaches(third, { status: 'succeeded' })
  },
)

test('a manual attempt is not kept waiting by a probe that hangs', async () => {
  const { endpoint, source, waiting } = await busyRoute()
  const third = await relay.reaches(await relay.accept(source), { status: 'pending' })
  endpoint.respond = hangs
  await relay.advance(HOUR_MS + 1_000)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  const probe = endpoint.arrivals[1]?.headers['webhook-id']
  const other = probe === waiting.id ? third : waiting
  endpoint.respond = says(200)
  await retry('manual', other)
  await relay.reaches(other.eventId, { status: 'succeeded' })
})

test('retry of a throttled delivery stays 409', async () => {
  const { throttled } = await busyRoute()
  const answer = await relay.api('POST', `/v1/deliveries/${throttled.id}/retry`)
  expect(answer.body).toMatchObject({ status: 409, code: 'CONFLICT' })
})

const ENDED: [name: string, change: (destination: Resource, url: string) => Promise<unknown>][] = [
  ['another url', async ({ id }, url) => await relay.change('destinations', id, { url })],
  [
    'another url by name',
    async ({ name }, url) =>
      await relay.api('PUT', `/v1/destinations/by-name/${encodeURIComponent(name)}`, { url }),
  ],
  [
    'another auth',
    async ({ id }) =>
      await relay.change('destinations', id, { auth: { type: 'bearer', token: 'other' } }),
  ],
  [
    'off and on',
    async ({ id }) => {
      await relay.api('POST', `/v1/destinations/${id}/toggle`, { isEnabled: false })
      await relay.api('POST', `/v1/destinations/${id}/toggle`, { isEnabled: true })
    },
  ],
]

test.for(ENDED)('%s ends a busy window: all that waited goes out', async ([, change]) => {
  const { source, destination, endpoint, first, second } = await busyRoute()
  endpoint.respond = says(200)
  await change(destination, `${endpoint.url}/other`)
  await relay.reaches(first, { status: 'succeeded', throttledReason: null })
  await relay.reaches(second, { status: 'succeeded' })
  await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(4)
})

test.for<[name: string, data: object]>([
  ['a limit', { maxConcurrency: 3 }],
  ['metadata', { metadata: { a: 'b' } }],
  ['the same url', {}],
])('a change of %s does not end a busy window', async ([, data]) => {
  const { destination, endpoint, throttled, first } = await busyRoute()
  endpoint.respond = says(200)
  await relay.change('destinations', destination.id, { url: destination.url, ...data })
  // The lane has had more than one look by the time that another destination is served.
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
  expect(await relay.deliveryOf(first)).toMatchObject({
    status: 'throttled',
    nextAttemptAt: throttled.nextAttemptAt,
  })
})

test('an answer of the address that was left says nothing about the new one', async () => {
  const answers: (() => void)[] = []
  const { source, destination, endpoint } = await relay.route({
    respond: (response, arrival) => {
      answers.push(() => BUSY(response, arrival))
    },
  })
  const eventId = await relay.accept(source)
  await eventually(() => expect(answers).toHaveLength(1))
  await relay.change('destinations', destination.id, { url: `${endpoint.url}/other` })
  endpoint.respond = says(200)
  answers[0]?.()
  await relay.reaches(eventId, { status: 'succeeded' })
})

test('a test delivery and a replay to a busy destination: the one goes out, the other waits with the rest', async () => {
  const { destination, endpoint, second } = await busyRoute()
  endpoint.respond = says(200)
  const tested = await relay.api('POST', `/v1/destinations/${destination.id}/test-delivery`)
  expect(tested.body.attempt).toMatchObject({ responseStatus: 200, outcome: 'succeeded' })
  const replayed = await relay.api('POST', `/v1/events/${second}/replay`)
  expect(replayed.body.deliveries).toHaveLength(1)
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  await relay.reaches(second, { status: 'pending', trigger: 'replay', attemptCount: 0 })
})

test('the next owner of a lane goes on with its busy window', async () => {
  await using own = await startRelay()
  const { source, endpoint } = await own.route({ respond: BUSY })
  await own.reaches(await own.accept(source), { status: 'throttled' })
  await own.stopWorker()
  await own.startWorker()
  const second = await own.accept(source)
  await own.reaches(second, { status: 'pending', nextAttemptAt: null })
  const other = await own.route()
  await own.reaches(await own.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(1)
})

test('the number of attempts that is shown is the one that is applied, also after the policy was changed', async () => {
  const { source, destination } = await relay.route({
    respond: says(500),
    destination: { retryPolicy: { strategy: 'schedule', scheduleSeconds: [60], maxAttempts: 5 } },
  })
  const eventId = await relay.accept(source)
  await relay.reaches(eventId, { status: 'pending', attemptCount: 1, maxAttempts: 5 })
  const retryPolicy = { strategy: 'schedule', scheduleSeconds: [60], maxAttempts: 2 }
  await relay.change('destinations', destination.id, { retryPolicy })
  const shown = await relay.deliveryOf(eventId)
  expect(shown).toMatchObject({ status: 'pending', maxAttempts: 2 })
  const listed = await relay.get(`/v1/deliveries?destinationId=${destination.id}`)
  expect(listed.data[0]).toMatchObject({ maxAttempts: 2 })
  await relay.advance(80_000)
  await relay.reaches(eventId, { status: 'failed', attemptCount: 2, maxAttempts: 2 })
  await relay.change('destinations', destination.id, {
    retryPolicy: { ...retryPolicy, maxAttempts: 9 },
  })
  expect(await relay.deliveryOf(eventId)).toMatchObject({ status: 'failed', maxAttempts: 2 })
  await retry('manual', shown)
  await eventually(async () => {
    const again = await relay.deliveryOf(eventId)
    expect(again.attempts).toHaveLength(3)
    expect(again).toMatchObject({ status: 'failed', attemptCount: 2, maxAttempts: 2 })
  })
})
