import { beforeAll, expect, test } from 'vitest'

import { inTurn, says } from '../kit/endpoint.ts'
import { accept, eventually, openTenant, type Tenant } from './tenant.ts'

let tenant: Tenant
let hobby: Tenant
beforeAll(async () => {
  ;[tenant, hobby] = await Promise.all([openTenant(), openTenant('hobby')])
})

test('delivery, throttled rate_limit: over destination pacing, "sent when capacity frees up"', async () => {
  const { source, endpoint } = await tenant.route({
    destination: { rateLimit: 30, rateLimitPeriod: 'minute' },
  })
  const ids = [await accept(source), await accept(source)]
  const held = await tenant.reaches(ids[1] ?? '', { status: 'throttled' })
  expect(held).toMatchObject({ throttledReason: 'rate_limit', attempts: [] })
  const sent = await tenant.reaches(ids[1] ?? '', { status: 'succeeded' })
  // No attempt was consumed, nothing was dropped, throttledAt is kept.
  expect(sent).toMatchObject({ attemptCount: 1, throttledAt: held.throttledAt })
  expect(sent.attempts).toMatchObject([{ number: 1, outcome: 'succeeded' }])
  expect(endpoint.arrivals).toHaveLength(2)
})

test('delivery, throttled rate_limit: over plan pacing, "nothing is dropped"', async () => {
  const { source, endpoint } = await hobby.route()
  const ids = await Promise.all(Array.from({ length: 30 }, async () => await accept(source)))
  await eventually(() => expect(endpoint.arrivals).toHaveLength(ids.length), 15_000)
  const { data } = await hobby.get(`/v1/deliveries?sourceId=${source.id}&limit=100`)
  await eventually(async () => {
    const now = await hobby.get(`/v1/deliveries?sourceId=${source.id}&limit=100&status=succeeded`)
    expect(now.data).toHaveLength(data.length)
    const held = now.data.filter((one: { throttledAt: string | null }) => one.throttledAt !== null)
    expect(held.length).toBeGreaterThan(0)
    const attempts = now.data.map((one: { attemptCount: number }) => one.attemptCount)
    expect(new Set(attempts)).toEqual(new Set([1]))
  })
})

test.each([429, 502, 504])(
  'delivery, throttled destination_busy: the endpoint answered %i, then retry scheduling',
  async (status) => {
    const busy = says(status, { 'retry-after': '1' })
    const { source, endpoint } = await tenant.route({ respond: inTurn(busy, says(200)) })
    const id = await accept(source)
    const throttled = { status: 'throttled', throttledReason: 'destination_busy' }
    await tenant.reaches(id, throttled)
    const done = await tenant.reaches(id, { status: 'succeeded' })
    expect(done.throttledAt).not.toBeNull()
    expect(endpoint.arrivals).toHaveLength(2)
  },
)

test('delivery: retry on a throttled delivery returns 409 CONFLICT', async () => {
  const { source } = await tenant.route({ respond: says(429) })
  const { id } = await tenant.reaches(await accept(source), { status: 'throttled' })
  expect(await tenant.api('POST', `/v1/deliveries/${id}/retry`)).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT' },
  })
})
