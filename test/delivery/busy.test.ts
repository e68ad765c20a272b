import { afterAll, beforeAll, expect, test } from 'vitest'

import { inTurn, says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const THROTTLED = { status: 'throttled', throttledReason: 'destination_busy' }

const dateIn = (seconds: number): string =>
  new Date(relay.clock.now() + seconds * 1_000).toUTCString()

const BUSY: [status: number, retryAfter: string | undefined, seconds: number][] = [
  [429, undefined, 30],
  [502, undefined, 30],
  [504, undefined, 30],
  [429, '120', 120],
  [502, 'a date in 90 s', 90],
  [504, '7', 7],
  [429, '999999', 3_600],
  [429, 'soon', 30],
]

test.each(BUSY)(
  '%i with Retry-After %j waits as destination_busy for %i s',
  async (status, wish, seconds) => {
    const retryAfter = wish?.startsWith('a date') ? dateIn(seconds) : wish
    const { source } = await relay.route({
      respond: says(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    })
    const delivery = await relay.reaches(await relay.accept(source), {
      ...THROTTLED,
      attemptCount: 0,
      throttledAt: expect.any(String),
    })
    const waitMs = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttempt.at)
    // A date has no fractions of a second, and time passes before it is read.
    expect(waitMs).toBeGreaterThanOrEqual(seconds * 1_000 - 4_000)
    expect(waitMs).toBeLessThanOrEqual(seconds * 1_000 + 2_000)
    expect(delivery.attempts).toMatchObject([
      { number: 1, outcome: 'busy', responseStatus: status },
    ])
  },
)

test('a busy destination is left alone for 30 s doubling to 15 min, spends no attempt, and throttledAt stays', async () => {
  const { source, endpoint } = await relay.route({ respond: says(429) })
  const eventId = await relay.accept(source)
  let firstThrottledAt: string | undefined
  for (const [index, seconds] of [30, 60, 120, 240, 480, 900, 900].entries()) {
    const delivery = await eventually(async () => {
      const now = await relay.deliveryOf(eventId)
      expect(now).toMatchObject({ ...THROTTLED, attemptCount: 0 })
      expect(now.attempts).toHaveLength(index + 1)
      return now
    })
    firstThrottledAt ??= delivery.throttledAt
    expect(delivery.throttledAt).toBe(firstThrottledAt)
    const waitMs = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttempt.at)
    expect(Math.abs(waitMs - seconds * 1_000)).toBeLessThan(2_000)
    await relay.advance(Date.parse(delivery.nextAttemptAt) - relay.clock.now() - 5_000)
    expect(endpoint.arrivals).toHaveLength(index + 1)
    if (seconds === 900) endpoint.respond = says(200)
    await relay.advance(5_000)
    if (seconds === 900) break
  }
  const delivery = await relay.reaches(eventId, { status: 'succeeded', attemptCount: 1 })
  expect(delivery).toMatchObject({ throttledAt: firstThrottledAt, throttledReason: null })
  expect(delivery.attempts.map((one: Resource) => one.number)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('busy for the whole span of the retry policy is failed', async () => {
  const busy = await relay.route({
    respond: says(504),
    destination: { retryPolicy: { strategy: 'schedule', scheduleSeconds: [50] } },
  })
  const eventId = await relay.accept(busy.source)
  await relay.reaches(eventId, THROTTLED)
  await relay.advance(31_000)
  await eventually(() => expect(busy.endpoint.arrivals).toHaveLength(2))
  await relay.reaches(eventId, THROTTLED)
  await relay.advance(61_000)
  const delivery = await relay.reaches(eventId, { status: 'failed', throttledReason: null })
  expect(delivery.throttledAt).not.toBeNull()
})

test('busy spends none of maxAttempts: real failures still get all of theirs', async () => {
  const { source } = await relay.route({
    respond: inTurn(says(429), says(500), says(429), says(500), says(500)),
    destination: { retryPolicy: { strategy: 'schedule', scheduleSeconds: [100, 2_000] } },
  })
  const eventId = await relay.accept(source)
  for (const [expected, ms] of [
    [{ ...THROTTLED, attemptCount: 0 }, 31_000],
    [{ status: 'pending', attemptCount: 1 }, 121_000],
    [{ ...THROTTLED, attemptCount: 1 }, 61_000],
    [{ status: 'pending', attemptCount: 2 }, 2_401_000],
  ] as const) {
    await relay.reaches(eventId, expected)
    await relay.advance(ms)
  }
  const { attempts } = await relay.reaches(eventId, { status: 'failed', attemptCount: 3 })
  const outcomes = attempts.map((one: Resource) => one.outcome)
  expect(outcomes).toEqual(['busy', 'failed', 'busy', 'failed', 'failed'])
})

test('siblings of busy deliveries wait; one probe goes first, then all', async () => {
  const held: (() => void)[] = []
  const { source, endpoint } = await relay.route({
    respond: (response, arrival) => {
      held.push(() => says(429)(response, arrival))
    },
  })
  const first = await Promise.all(Array.from({ length: 4 }, () => relay.accept(source)))
  await eventually(() => expect(held).toHaveLength(4))
  for (const answer of held) answer()
  for (const id of first) await relay.reaches(id, THROTTLED)
  const siblings = await Promise.all(Array.from({ length: 12 }, () => relay.accept(source)))
  for (const id of siblings) await relay.reaches(id, { status: 'pending', attemptCount: 0 })
  expect(endpoint.arrivals).toHaveLength(4)

  const answers: (() => void)[] = []
  endpoint.respond = (response) => {
    answers.push(() => response.end())
  }
  await relay.advance(31_000)
  await eventually(() => expect(answers).toHaveLength(1))
  // The lane has had more than one look by the time that another destination is served.
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(answers).toHaveLength(1)
  endpoint.respond = says(200)
  answers[0]?.()
  for (const id of [...first, ...siblings]) await relay.reaches(id, { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(20)
})

test('a probe that is busy again leaves the siblings waiting', async () => {
  const { source, endpoint } = await relay.route({ respond: says(429) })
  await relay.reaches(await relay.accept(source), THROTTLED)
  const sibling = await relay.accept(source)
  await relay.reaches(sibling, { status: 'pending' })
  await relay.advance(31_000)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
  const other = await relay.route()
  await relay.reaches(await relay.accept(other.source), { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(2)
})

test('retry of a throttled delivery is 409 CONFLICT', async () => {
  const { source } = await relay.route({ respond: says(429) })
  const { id } = await relay.reaches(await relay.accept(source), THROTTLED)
  expect(await relay.api('POST', `/v1/deliveries/${id}/retry`, {})).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT' },
  })
})
