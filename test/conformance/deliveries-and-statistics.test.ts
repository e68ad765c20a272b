import { beforeAll, expect, test } from 'vitest'

import { inTurn, says } from '../kit/endpoint.ts'
import type { Resource } from '../kit/relay.ts'
import { accept, eventually, openTenant, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

test('deliveries: POST retry "retries a delivery"', async () => {
  const { source, endpoint } = await tenant.route({
    respond: inTurn(says(500), says(200)),
    destination: { retryPolicy: { strategy: 'linear', initialDelaySeconds: 60, maxAttempts: 1 } },
  })
  const id = await accept(source)
  const failed = await tenant.reaches(id, { status: 'failed' })
  await tenant.post(`/v1/deliveries/${failed.id}/retry`)
  const sent = await tenant.reaches(id, { id: failed.id, status: 'succeeded' })
  expect(sent.attempts).toMatchObject([{ trigger: 'initial' }, { trigger: 'manual' }])
  expect(endpoint.arrivals).toHaveLength(2)
})

test('deliveries: GET /v1/deliveries/stats is "{pending, throttled}: deliveries waiting now"', async () => {
  const stats = async (): Promise<Resource> => await tenant.get('/v1/deliveries/stats')
  await eventually(async () => {
    expect(await stats()).toMatchObject({ pending: 0, throttled: 0 })
  })
  const held = await tenant.route({ destination: { isEnabled: false } })
  const busy = await tenant.route({ respond: says(429) })
  await Promise.all([accept(held.source), accept(held.source), accept(busy.source)])
  await eventually(async () => {
    expect(await stats()).toMatchObject({ pending: 2, throttled: 1 })
  })
})

test('statistics: GET /v1/stats/dashboard is "historical outcome counts"', async () => {
  const one = await tenant.route()
  const other = await tenant.route({
    respond: says(500),
    destination: { retryPolicy: { strategy: 'linear', initialDelaySeconds: 60, maxAttempts: 1 } },
  })
  await Promise.all([accept(one.source), accept(one.source), accept(other.source)])
  const total = async (kind: string, { id }: Resource): Promise<[number, number]> => {
    const { data } = await tenant.get(`/v1/stats/dashboard?${kind}Id=${id}`)
    const sum = (outcome: string): number =>
      data.reduce((all: number, bucket: Resource) => all + bucket.deliveries[outcome], 0)
    return [sum('succeeded'), sum('failed')]
  }
  await eventually(async () => {
    expect(await total('destination', one.destination)).toEqual([2, 0])
    expect(await total('destination', other.destination)).toEqual([0, 1])
  })
})
