import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { MATCHED_MAX } from '../../core/limits.ts'
import { says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Resource } from '../kit/relay.ts'
import { seedDelivery, seedEvent, seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

async function plan(on: World, kind: string, filter: object): Promise<Resource> {
  const answer = await on.api('POST', '/v1/operations/plan', { kind, filter })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

async function change(on: World, path: string, body: object): Promise<void> {
  const answer = await on.api('PATCH', `/v1/${path}`, { data: body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

async function make(on: World, path: string, body: object): Promise<string> {
  const answer = await on.api('POST', `/v1/${path}`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body.id
}

test('a replay is planned: since when, where to, how long, and what is left out', async () => {
  await using own = await startWorld()
  const { sourceId, destinationId, connectionId } = await seedRoute(own, 'orders')
  const url = 'http://127.0.0.1:9/'
  const slow = await make(own, 'destinations', {
    name: 'slow',
    url,
    rateLimit: 2,
    rateLimitPeriod: 'minute',
  })
  const paused = await make(own, 'destinations', { name: 'paused', url, rateLimit: 1 })
  await make(own, 'connections', { name: 'twice', sourceId, destinationId })
  await make(own, 'connections', { name: 'slow', sourceId, destinationId: slow })
  await make(own, 'connections', { name: 'paused', sourceId, destinationId: paused })
  const off = await make(own, 'connections', { name: 'off', sourceId, destinationId: slow })
  await own.api('POST', `/v1/connections/${off}/toggle`, { isEnabled: false })
  await own.api('POST', `/v1/destinations/${paused}/toggle`, { isEnabled: false })
  await seedRoute(own, 'elsewhere')

  const now = own.clock.now()
  const at = (n: number): string => new Date(now - 60_000 + n * 1_000).toISOString()
  for (let n = 0; n < 10; n++)
    await seedEvent(own, { ...shopOf(sourceId), atMs: Date.parse(at(n)) })
  const refused = { status: 'rejected', rejectionReason: 'signature_mismatch' }
  await seedEvent(own, { sourceId, ...refused, atMs: Date.parse(at(11)) })
  await seedEvent(own, { sourceId, atMs: now - 91 * DAY_MS })

  const planned = await plan(own, 'replay', { sourceId })
  expect(planned).toEqual({
    kind: 'replay',
    matched: 12,
    truncated: false,
    oldestAt: new Date(now - 91 * DAY_MS).toISOString(),
    newestAt: at(11),
    refused: { rejected: 1, past_retention: 1 },
    deliveries: 40,
    isUpperBound: false,
    quotaDeliveries: 40,
    destinations: expect.arrayContaining([
      { destinationId, deliveries: 20, isEnabled: true, seconds: null },
      { destinationId: slow, deliveries: 10, isEnabled: true, seconds: 9 * 30 },
      { destinationId: paused, deliveries: 10, isEnabled: false, seconds: null },
    ]),
    destinationCount: 3,
    seconds: 270,
  })

  await change(own, `connections/${connectionId}`, { filter: { body: { amount: 99 } } })
  expect(await plan(own, 'replay', { sourceId, from: at(4), to: at(6) })).toMatchObject({
    matched: 3,
    oldestAt: at(4),
    newestAt: at(6),
    refused: {},
    deliveries: 12,
    isUpperBound: true,
    seconds: 60,
  })
  expect(await plan(own, 'replay', { status: 'filtered' })).toEqual({
    kind: 'replay',
    matched: 0,
    truncated: false,
    oldestAt: null,
    newestAt: null,
    refused: {},
    deliveries: 0,
    isUpperBound: false,
    quotaDeliveries: 0,
    destinations: [],
    destinationCount: 0,
    seconds: null,
  })
})

const shopOf = (sourceId: string) => ({ sourceId, eventType: 'order.paid' })

test('a retry and a cancellation are planned by destination, without what they would refuse', async () => {
  await using own = await startWorld()
  const near = await seedRoute(own, 'near')
  const far = await seedRoute(own, 'far')
  const gone = await seedRoute(own, 'gone')
  await change(own, `destinations/${far.destinationId}`, {
    rateLimit: 3_600,
    rateLimitPeriod: 'hour',
  })
  const eventId = await seedEvent(own, near)
  const soon = new Date(own.clock.now() + 3_600_000)
  const failed = { eventId, status: 'failed', lastErrorCode: 'timeout' }
  for (let n = 0; n < 3; n++) await seedDelivery(own, { ...near, ...failed })
  for (let n = 0; n < 5; n++) await seedDelivery(own, { ...far, ...failed })
  await seedDelivery(own, { ...gone, ...failed })
  const cut = await seedRoute(own, 'cut')
  await seedDelivery(own, { ...cut, ...failed })
  await own.api('DELETE', `/v1/connections/${cut.connectionId}`)
  await seedDelivery(own, { ...far, eventId, status: 'throttled', nextAt: null })
  await seedDelivery(own, { ...near, eventId, status: 'pending', nextAt: soon })
  await own.api('DELETE', `/v1/connections/${gone.connectionId}`)
  await own.api('DELETE', `/v1/destinations/${gone.destinationId}`)

  const ofFar = { destinationId: far.destinationId, isEnabled: true }
  const ofNear = { destinationId: near.destinationId, isEnabled: true, seconds: null }
  expect(await plan(own, 'retry', { eventId })).toMatchObject({
    matched: 12,
    refused: { throttled: 1, destination_deleted: 1, connection_deleted: 1 },
    deliveries: 9,
    isUpperBound: false,
    quotaDeliveries: 0,
    destinations: [
      { ...ofFar, deliveries: 5, seconds: 4 },
      { ...ofNear, deliveries: 4 },
    ],
    destinationCount: 2,
    seconds: 4,
  })
  expect(await plan(own, 'retry', { status: 'failed', sourceId: near.sourceId })).toMatchObject({
    matched: 3,
    destinations: [{ ...ofNear, deliveries: 3 }],
    seconds: null,
  })
  const ofNone = { ...near, eventId: null, connectionId: null, sourceId: null, status: 'failed' }
  await seedDelivery(own, { ...ofNone, lastErrorCode: 'timeout' })
  const ofDestination = { status: 'failed', destinationId: near.destinationId }
  expect(await plan(own, 'retry', ofDestination)).toMatchObject({
    matched: 4,
    refused: { test_delivery: 1 },
    deliveries: 3,
  })
  expect(await plan(own, 'cancel', { eventId })).toMatchObject({
    matched: 12,
    refused: { failed: 10 },
    deliveries: 2,
    seconds: null,
    destinations: expect.arrayContaining([
      { ...ofFar, deliveries: 1, seconds: null },
      { ...ofNear, deliveries: 1 },
    ]),
  })
})

test('a plan that paces its deliveries says how long, whatever the destinations take', async () => {
  await using own = await startWorld({ plan: 'hobby' })
  const { sourceId } = await seedRoute(own, 'orders')
  for (let n = 0; n < 60; n++) await seedEvent(own, { sourceId })
  const { deliveries, seconds } = await plan(own, 'replay', { sourceId })
  expect(deliveries).toBe(60)
  const billing = (await own.api('GET', '/v1/billing/plan')).body
  const { maxDeliveriesPerSecond, burstDeliveriesPerSecond } = billing.entitlements
  const burst = Math.max(1, burstDeliveriesPerSecond - maxDeliveriesPerSecond)
  expect(seconds).toBe(Math.ceil((60 - burst) / maxDeliveriesPerSecond))
  expect(seconds).toBeGreaterThan(1)
})

test('counts of a plan end at their limit, and it says so', async () => {
  await using own = await startWorld()
  const { sourceId, destinationId, connectionId } = await seedRoute(own, 'many')
  const others = 150
  await sql`
    insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status, error_code)
    select uuidv7(interval '-1 hour' + n * interval '1 ms'), 90, ${uuid('prj', own.projectId)}::uuid,
      case when n <= ${others} then uuidv7() else ${uuid('dst', destinationId)}::uuid end,
      ${uuid('con', connectionId)}::uuid, ${uuid('src', sourceId)}::uuid, 'failed', 'timeout'
    from generate_series(1, ${MATCHED_MAX + 10_001}::int) as n`.execute(own.db)
  const cancelled = await plan(own, 'cancel', { status: 'failed' })
  // A busy machine counts fewer in the time that there is.
  expect(cancelled.matched).toBeLessThanOrEqual(MATCHED_MAX)
  expect(cancelled).toMatchObject({ truncated: true, refused: { failed: cancelled.matched } })
  const retried = await plan(own, 'retry', { status: 'failed' })
  expect(retried.matched).toBeLessThanOrEqual(MATCHED_MAX)
  expect(retried).toMatchObject({
    truncated: true,
    refused: { destination_deleted: others },
    deliveries: retried.matched - others,
    destinationCount: 1,
  })
}, 60_000)

test('a plan names its busiest hundred destinations, and counts all', async () => {
  await using own = await startWorld()
  const { sourceId, connectionId, destinationId } = await seedRoute(own, 'many')
  await sql`
    with made as (
      insert into destination (id, organisation_id, project_id, name, mode, url, is_enabled, method, header_names, auth,
        secrets, timeout_ms, rate_limit_period, retry_policy, metadata, created_at, updated_at)
      select uuidv7(), organisation_id, project_id, 'made ' || n, mode, url, is_enabled, method, header_names, auth,
        secrets, timeout_ms, rate_limit_period, retry_policy, metadata, created_at, updated_at
      from destination, generate_series(1, 120) as n where id = ${uuid('dst', destinationId)}::uuid
      returning id, project_id, substring(name from 6)::int as n
    )
    insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status, error_code)
    select uuidv7(), 90, project_id, id, ${uuid('con', connectionId)}::uuid, ${uuid('src', sourceId)}::uuid, 'failed', 'timeout'
    from made, generate_series(1, n)`.execute(own.db)
  const { destinations, destinationCount, deliveries } = await plan(own, 'retry', {
    status: 'failed',
  })
  expect(destinationCount).toBe(120)
  expect(deliveries).toBe((120 * 121) / 2)
  expect(destinations.map((one: { deliveries: number }) => one.deliveries)).toEqual(
    Array.from({ length: 100 }, (_, n) => 120 - n),
  )
})

test('a replay takes as long as its plan says', async () => {
  await using relay = await startRelay()
  const { source, endpoint } = await relay.route({
    destination: { rateLimit: 4, rateLimitPeriod: 'second' },
    respond: says(200),
  })
  for (let n = 0; n < 13; n++) await relay.accept(source)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(13), 20_000)
  const filter = { sourceId: source.id }
  const { deliveries, seconds } = await plan(relay, 'replay', filter)
  expect({ deliveries, seconds }).toEqual({ deliveries: 13, seconds: 3 })
  await relay.api('POST', '/v1/operations', { kind: 'replay', filter })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(26), 20_000)
  const [first, last] = [endpoint.arrivals[13], endpoint.arrivals[25]]
  const tookMs = (last?.atMs ?? 0) - (first?.atMs ?? 0)
  expect(tookMs).toBeGreaterThan(2_500)
  expect(tookMs).toBeLessThan(5_000)
}, 60_000)
