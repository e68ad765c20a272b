import { afterAll, beforeAll, expect, test } from 'vitest'

import { HOUR_MS, MINUTE_MS } from '../../core/clock.ts'
import { foldDeliveries } from '../../core/db/statistics/folds.ts'
import { judgeDestinations } from '../../dataplane/housekeeper/tasks/failing.ts'
import { says } from '../kit/endpoint.ts'
import { noteAttempt } from '../kit/noted-attempt.ts'
import { noticesOf } from '../kit/notices.ts'
import { eventually, startRelay, type Relay, type Resource, type Route } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const ONCE = { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 1 }

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

const attempt = async (route: Route, status?: string): Promise<void> =>
  await noteAttempt(relay, route, status)
const judge = async (): Promise<void> => await judgeDestinations({ ...relay.deps, db: relay.db })

const shown = async ({ destination }: Route): Promise<Resource> =>
  await relay.get(`/v1/destinations/${destination.id}`)

const route = async (status: number): Promise<Route> =>
  await relay.route({ destination: { retryPolicy: ONCE }, respond: says(status) })

test('a destination that fails every attempt for 5 days is disabled, and its owner told at 50, 70, 90 and 100 %', async () => {
  const failing = await route(500)
  await attempt(failing)
  const told: [hours: number, percents: number[]][] = []
  let percents: number[] = []
  for (let hours = 6; hours <= 120; hours += 6) {
    await relay.advance(6 * HOUR_MS)
    await attempt(failing)
    await judge()
    const now = (await noticesOf(relay, failing.destination)).map(({ details }) => details.percent)
    if (now.length > percents.length) told.push([hours, now.slice(percents.length)])
    percents = now
    expect(await shown(failing)).toMatchObject(
      hours < 120
        ? { isEnabled: true, health: 'failing' }
        : { isEnabled: false, disabledReason: 'failing', health: 'disabled' },
    )
  }
  // 70 % are 84 hours.
  expect(told).toEqual([
    [60, [50]],
    [84, [70]],
    [108, [90]],
    [120, [100]],
  ])
  await expectBackInService(failing)
})

async function expectBackInService(failing: Route): Promise<void> {
  const { source, destination, endpoint } = failing
  const before = endpoint.arrivals.length
  const waiting = await relay.accept(source)
  await relay.reaches(waiting, { status: 'pending', lastError: 'destination_disabled' })
  expect(endpoint.arrivals).toHaveLength(before)

  await relay.change('destinations', destination.id, { isEnabled: true })
  await relay.reaches(waiting, { status: 'failed', attemptCount: 1 })
  await attempt(failing)
  await judge()
  expect(await shown(failing)).toMatchObject({ isEnabled: true, health: 'healthy' })
  await relay.advance(10 * MINUTE_MS)
  await attempt(failing)
  await judge()
  expect(await shown(failing)).toMatchObject({ isEnabled: true, health: 'failing' })
  expect(await noticesOf(relay, destination)).toHaveLength(4)
}

test('failing: not after one failed attempt, after 5 minutes of them, and healthy again with a success', async () => {
  const flaky = await route(500)
  await attempt(flaky)
  await judge()
  expect(await shown(flaky)).toMatchObject({ health: 'healthy' })
  await relay.advance(6 * MINUTE_MS)
  await judge()
  expect(await shown(flaky)).toMatchObject({ health: 'healthy' })
  await attempt(flaky)
  await judge()
  expect(await shown(flaky)).toMatchObject({ health: 'failing', disabledReason: null })
  const { data } = await relay.get('/v1/destinations?limit=100')
  expect(data).toContainEqual(
    expect.objectContaining({ id: flaky.destination.id, health: 'failing' }),
  )
  expect(await relay.change('destinations', flaky.destination.id, { timeoutMs: 5_000 })).toEqual(
    expect.objectContaining({ health: 'failing' }),
  )
  flaky.endpoint.respond = says(204)
  await attempt(flaky, 'succeeded')
  expect(await shown(flaky)).toMatchObject({ health: 'healthy' })
  expect(await noticesOf(relay, flaky.destination)).toEqual([])
})

test('failing: the owner of one that was told of hears when it succeeds again', async () => {
  const flaky = await route(503)
  await attempt(flaky)
  await relay.advance(61 * HOUR_MS)
  await attempt(flaky)
  await judge()
  flaky.endpoint.respond = says(200)
  await attempt(flaky, 'succeeded')
  await judge()
  await judge()
  const notices = await noticesOf(relay, flaky.destination)
  expect(notices.map(({ kind }) => kind)).toEqual(['destination.failing', 'destination.recovered'])
  expect(notices[1]?.details).toMatchObject({ failingSince: notices[0]?.details.failingSince })
})

test('failing: an endpoint that asks for time with 429 is busy, for however long', async () => {
  const busy = await relay.route({ respond: says(429) })
  await relay.reaches(await relay.accept(busy.source), { status: 'throttled' })
  for (let days = 1; days <= 6; days++) {
    const before = busy.endpoint.arrivals.length
    // The delivery of the day before is over after 28 hours.
    await relay.reaches(await relay.accept(busy.source), { eventId: expect.any(String) })
    await relay.advance(24 * HOUR_MS)
    await eventually(() => expect(busy.endpoint.arrivals.length).toBeGreaterThan(before))
    await eventually(async () => {
      await foldDeliveries(relay.db)
      await judge()
      const run = await relay.db
        .selectFrom('destination_failure')
        .select('failing_since')
        .where('destination_id', '=', uuid('dst', busy.destination.id))
        .executeTakeFirst()
      expect(run?.failing_since ?? null).toBeNull()
    })
    expect(await shown(busy)).toMatchObject({ isEnabled: true, health: 'healthy' })
  }
  expect(await noticesOf(relay, busy.destination)).toEqual([])
})

test('failing: test deliveries do not count', async () => {
  const tested = await route(500)
  for (let times = 0; times < 2; times++) {
    const path = `/v1/destinations/${tested.destination.id}/test-delivery`
    expect(await relay.api('POST', path, {})).toMatchObject({ status: 200 })
    await relay.advance(10 * MINUTE_MS)
  }
  // A later attempt of another destination is recorded, so all earlier ones are.
  const other = await route(500)
  await attempt(other)
  await judge()
  const rows = await relay.db
    .selectFrom('destination_failure')
    .select('destination_id')
    .where('destination_id', '=', uuid('dst', tested.destination.id))
    .execute()
  expect(rows).toEqual([])
  expect(await shown(tested)).toMatchObject({ health: 'healthy' })
})
