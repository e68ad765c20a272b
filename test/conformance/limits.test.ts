import { beforeAll, expect, test } from 'vitest'

import type { PlanName } from '../../core/plans/plans.ts'
import { inTurn, says } from '../kit/endpoint.ts'
import { mostInASecond, secondsBetween, timesOf } from '../kit/pace.ts'
import type { IngestReply, Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'
import { nowMs } from './clock.ts'
import { accept, call, eventually, openEndpoint, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
let hobby: Tenant
let launch: Tenant
beforeAll(async () => {
  ;[tenant, hobby, launch] = await Promise.all([
    openTenant('enterprise'),
    openTenant('hobby'),
    openTenant('launch'),
  ])
})

/** Has this and nothing else differ from the plan; without words, nothing. */
async function negotiate({ organisationId }: Tenant, ...set: string[]): Promise<void> {
  const words = set.flatMap((one) => ['--set', one])
  await admin('organisations', 'override', organisationId, '--clear', ...words)
}

/** On this plan from now on, if it is not. */
async function subscribe(plan: PlanName): Promise<void> {
  await tenant.api('POST', '/v1/billing/change-plan', { plan, when: 'now' })
}

test(
  'limits, API requests: 600 per minute and API key; "beyond that 429", without a code',
  { timeout: 60_000 },
  async () => {
    const busy = await tenant.makeKey({ permissions: { projects: 'read' } })
    const ask = async () => await call('GET', '/v1/projects', undefined, busy)
    const first = await ask()
    expect(first.headers.get('x-ratelimit-limit')).toBe('600')
    const answers = [first]
    for (let round = 0; round < 13; round++) {
      answers.push(...(await Promise.all(Array.from({ length: 50 }, ask))))
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(600)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(51)
    expect(refused[0]?.body).toEqual({ status: 429, message: expect.any(String) })
    // Another key has its whole window.
    expect(await tenant.api('GET', '/v1/projects')).toMatchObject({ status: 200 })
  },
)

const statuses = (heard: IngestReply[]): Set<number> => new Set(heard.map(({ status }) => status))
const burst = async (source: Resource, count: number): Promise<IngestReply[]> =>
  await Promise.all(Array.from({ length: count }, async () => await send(source)))

test('limits, Source rateLimit: 0 = unlimited, the default', async () => {
  const source = await tenant.make('sources')
  expect(source.rateLimit).toBe(0)
  expect(statuses(await burst(source, 100))).toEqual(new Set([200]))
})

test('limits, Source rateLimit: "exceeding gives 429 RATE_LIMITED", of this source alone', async () => {
  const [source, other] = [await tenant.make('sources'), await tenant.make('sources')]
  await admin('sources', 'set-rate-limit', source.id, '2')
  await eventually(async () => {
    const refused = (await burst(source, 8)).find(({ status }) => status === 429)
    expect(refused?.body).toMatchObject({ code: 'RATE_LIMITED', data: { limit: 2 } })
  })
  expect(statuses(await burst(other, 20))).toEqual(new Set([200]))
})

test('limits, Organisation clamp: over all sources, "checked after the source limit; same 429 response"', async () => {
  const [source, other] = [await launch.make('sources'), await launch.make('sources')]
  await Promise.all([
    negotiate(launch, 'ingestRequestsPerSecond=3'),
    admin('sources', 'set-rate-limit', source.id, '1'),
  ])
  await eventually(async () => {
    const heard = await Promise.all([burst(other, 12), burst(source, 4)])
    const limits = heard.map((all) =>
      all.flatMap(({ status, body }) => (status === 429 ? [body.data.limit] : [])),
    )
    expect(new Set(limits[0])).toEqual(new Set([3]))
    expect(limits[1]).toContain(1)
  })
})

test('limits, Payload size: maxPayloadSizeKb passes, one byte more is PAYLOAD_TOO_LARGE', async () => {
  const source = await tenant.make('sources', { maxPayloadSizeKb: 2 })
  await accept(source, { body: 'x'.repeat(2_048) })
  expect(await send(source, { body: 'x'.repeat(2_049) })).toMatchObject({
    status: 413,
    body: { code: 'PAYLOAD_TOO_LARGE' },
  })
})

const usageOf = async (owner: Tenant): Promise<Resource> => await owner.get('/v1/billing/usage')

test('limits, Delivery quota: the unit is the delivery, "fan-out to three connections counts three"', async () => {
  const { source, destination } = await tenant.route({ source: { idempotencyKeys: ['header.id'] } })
  await tenant.connect(source, destination)
  await tenant.connect(source, destination)
  const used = (await usageOf(tenant)).deliveries
  const counts = async (deliveries: number) =>
    await eventually(async () => {
      expect(await usageOf(tenant)).toMatchObject({ deliveries: used + deliveries })
    })
  const id = await accept(source, { headers: { id: '1' } })
  await counts(3)
  // "duplicate requests are never counted", "replays are billed"
  expect(await send(source, { headers: { id: '1' } })).toMatchObject({ body: { duplicate: true } })
  await tenant.post(`/v1/events/${id}/replay`)
  await counts(6)
})

test('limits, Delivery quota: "retries are free"', async () => {
  const retryPolicy = { strategy: 'linear', initialDelaySeconds: 1, maxAttempts: 2 }
  const { source, endpoint } = await tenant.route({
    respond: inTurn(says(500), says(500), says(200)),
    destination: { retryPolicy },
  })
  const used = (await usageOf(tenant)).deliveries
  const id = await accept(source)
  const { id: deliveryId } = await tenant.reaches(id, { status: 'failed', attemptCount: 2 })
  await tenant.post(`/v1/deliveries/${deliveryId}/retry`)
  await tenant.reaches(id, { status: 'succeeded' })
  expect(endpoint.arrivals).toHaveLength(3)
  await accept(source)
  // The last count is there, and so are all before it.
  await eventually(async () => {
    expect(await usageOf(tenant)).toMatchObject({ deliveries: used + 2 })
  })
})

test('limits, Delivery quota: the window is "the UTC calendar month" without a subscription', async () => {
  const now = new Date(nowMs())
  const first = (month: number) => new Date(Date.UTC(now.getUTCFullYear(), month)).toISOString()
  expect(await usageOf(hobby)).toMatchObject({
    windowStart: first(now.getUTCMonth()),
    resetAt: first(now.getUTCMonth() + 1),
  })
})

test('limits, Delivery quota: the window is "the subscription billing period for subscribed organisations"', async () => {
  await subscribe('scale')
  const { subscription } = await tenant.get('/v1/billing/plan')
  expect(await usageOf(tenant)).toMatchObject({
    windowStart: subscription.currentPeriodStart,
    resetAt: subscription.currentPeriodEnd,
  })
})

test('limits, Delivery quota: "hard-capped plans (the free Hobby tier) reject with QUOTA_EXCEEDED"', async () => {
  const { source } = await hobby.route()
  await accept(source)
  await eventually(async () => {
    const { deliveries } = await usageOf(hobby)
    expect(deliveries).toBeGreaterThan(0)
    await negotiate(hobby, `deliveryQuota=${deliveries}`)
    expect(await send(source)).toMatchObject({ status: 429, body: { code: 'QUOTA_EXCEEDED' } })
  })
  await negotiate(hobby)
  await eventually(async () => await accept(source))
})

test('limits, Delivery quota: "paid plans with overage enabled never hard-cap", the excess is metered', async () => {
  await negotiate(launch, 'deliveryQuota=1')
  const { source } = await launch.route()
  const { deliveries } = await usageOf(launch)
  for (const _ of [1, 2, 3]) await accept(source)
  await eventually(async () => {
    const usage = await usageOf(launch)
    expect(usage).toMatchObject({ deliveries: deliveries + 3, limit: 1 })
    expect(usage.overage).toBe(usage.deliveries - 1)
  })
})

/** The plan pacing table, and the values of event retention. */
const PLANS: [plan: PlanName, max: number | null, most: number | null, retentionDays: number][] = [
  ['hobby', 10, 20, 3],
  ['launch', 50, 100, 7],
  ['scale', 200, 400, 30],
  ['enterprise', null, null, 90],
]

test.each(PLANS)(
  'limits, Plan pacing and Event retention: %s has maxDeliveriesPerSecond %j, burst %j and %i days',
  async (plan, maxDeliveriesPerSecond, burstDeliveriesPerSecond, retentionDays) => {
    const owner = plan === 'hobby' ? hobby : tenant
    if (plan !== 'hobby') await subscribe(plan)
    expect(await owner.get('/v1/billing/plan')).toMatchObject({
      plan,
      entitlements: { maxDeliveriesPerSecond, burstDeliveriesPerSecond, retentionDays },
    })
  },
)

test('limits, Plan pacing: Hobby sends 20 at once and 10 a second, over all destinations; "never an error"', async () => {
  const { source, endpoint } = await hobby.route()
  const other = await openEndpoint()
  const to = await hobby.make('destinations', { url: other.url })
  await hobby.connect(source, to)
  expect(statuses(await burst(source, 25))).toEqual(new Set([200]))
  const { data } = await eventually(async () => {
    const list = await hobby.get(`/v1/deliveries?sourceId=${source.id}&status=succeeded&limit=100`)
    expect(list.data).toHaveLength(50)
    return list
  }, 15_000)
  expect([...endpoint.arrivals, ...other.arrivals]).toHaveLength(50)
  const times = timesOf(data)
  expect(mostInASecond(times)).toBeLessThanOrEqual(22)
  expect(secondsBetween(times)).toBeGreaterThan(2.5)
})

test('limits, Destination pacing: "rateLimit per rateLimitPeriod", the excess is throttled with rate_limit', async () => {
  const { source, endpoint } = await tenant.route({
    destination: { rateLimit: 60, rateLimitPeriod: 'minute' },
  })
  const ids = await Promise.all([accept(source), accept(source), accept(source)])
  await eventually(async () => {
    const { data } = await tenant.get(`/v1/deliveries?sourceId=${source.id}&status=throttled`)
    expect(data).toContainEqual(expect.objectContaining({ throttledReason: 'rate_limit' }))
  })
  await eventually(() => expect(endpoint.arrivals).toHaveLength(ids.length))
  const times = endpoint.arrivals.map(({ atMs }) => atMs)
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_900)
})

test('limits, rules: "a held delivery keeps throttledAt after success"', async () => {
  const { source } = await tenant.route({
    destination: { rateLimit: 30, rateLimitPeriod: 'minute' },
  })
  await accept(source)
  const held = await accept(source)
  await tenant.reaches(held, { status: 'throttled' })
  await tenant.reaches(held, {
    status: 'succeeded',
    attemptCount: 1,
    throttledAt: expect.any(String),
  })
})
