import { beforeAll, expect, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { admin } from './admin.ts'
import { accept, openTenant, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

/** The row of Source. */
const SOURCE: [field: string, fields: object, expected: unknown][] = [
  ['eventTypeField', { eventTypeField: 'body.type' }, 'body.type'],
  ['idempotencyKeys', { idempotencyKeys: ['header.x-id'] }, ['header.x-id']],
  ['maxPayloadSizeKb', { maxPayloadSizeKb: 7 }, 7],
  ['rateLimit', {}, 0],
]

test.each(SOURCE)('other records, Source: %s', async (field, fields, expected) => {
  expect((await tenant.make('sources', fields))[field]).toEqual(expected)
})

test('other records, Source: rateLimit is "read-only on the API, changed by support"', async () => {
  const source = await tenant.make('sources')
  const path = `/v1/sources/${source.id}`
  const answer = await tenant.api('PATCH', path, { data: { rateLimit: 5 } })
  expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  await admin('sources', 'set-rate-limit', source.id, '5')
  expect(await tenant.get(path)).toMatchObject({ rateLimit: 5 })
})

test.each(['second', 'minute', 'hour', 'day'])(
  'other records, Destination: rateLimit per %s',
  async (rateLimitPeriod) => {
    const fields = { url: 'https://example.com/', rateLimit: 3, rateLimitPeriod }
    expect(await tenant.make('destinations', fields)).toMatchObject(fields)
  },
)

const WRONG: [member: string, value: unknown][] = [
  ['rateLimit', 1.5],
  ['rateLimitPeriod', 'week'],
]

test.each(WRONG)('other records, Destination: %s %j is refused', async (member, value) => {
  const fields = { name: 'wrong', url: 'https://example.com', rateLimit: 1, [member]: value }
  const answer = await tenant.api('POST', '/v1/destinations', fields)
  expect(answer).toMatchObject({
    status: 400,
    body: { data: { fields: [{ path: `body.${member}` }] } },
  })
})

test('other records, Delivery: status, throttledReason and throttledAt', async () => {
  const { source } = await tenant.route({ respond: says(429) })
  const id = await accept(source)
  await tenant.reaches(id, {
    status: 'throttled',
    throttledReason: 'destination_busy',
    throttledAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
  })
})

test('other records, Plan entitlements: retentionDays, and null pacing means unlimited', async () => {
  expect(await tenant.get('/v1/billing/plan')).toMatchObject({
    entitlements: {
      retentionDays: 90,
      maxDeliveriesPerSecond: null,
      burstDeliveriesPerSecond: null,
    },
  })
})
