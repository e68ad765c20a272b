import { beforeAll, expect, test } from 'vitest'

import { nowMs } from './clock.ts'
import { accept, eventually, openTenant, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant('launch')
})

test('billing: GET /v1/billing/plan is "the organisation\'s plan, including retentionDays"', async () => {
  expect(await tenant.get('/v1/billing/plan')).toMatchObject({
    plan: 'launch',
    entitlements: { retentionDays: 7 },
  })
})

test('billing: GET /v1/billing/usage is "usage against the delivery quota, and resetAt"', async () => {
  const { source } = await tenant.route()
  await accept(source)
  await eventually(async () => {
    const usage = await tenant.get('/v1/billing/usage')
    expect(usage).toMatchObject({ deliveries: 1, limit: 100_000 })
    expect(Date.parse(usage.resetAt)).toBeGreaterThan(nowMs())
  })
})

/** In an order in which each has something to do. */
const MUTATIONS: [name: string, body: object | undefined, expected: object][] = [
  ['change-plan', { plan: 'scale', when: 'now' }, { plan: 'scale' }],
  [
    'change-plan',
    { plan: 'launch', when: 'period_end' },
    { plan: 'scale', subscription: { scheduledChange: { plan: 'launch' } } },
  ],
  ['revert-scheduled-change', undefined, { subscription: { scheduledChange: null } }],
  ['cancel', undefined, { subscription: { cancelAtPeriodEnd: true } }],
  ['resume', undefined, { subscription: { cancelAtPeriodEnd: false } }],
]

test.each(MUTATIONS)('billing: the mutation %s %j', async (name, body, expected) => {
  expect(await tenant.post(`/v1/billing/${name}`, body)).toMatchObject(expected)
  expect(await tenant.get('/v1/billing/plan')).toMatchObject(expected)
})
