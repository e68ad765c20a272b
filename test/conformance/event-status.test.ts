import { beforeAll, expect, test } from 'vitest'

import type { Resource } from '../kit/relay.ts'
import { SIGNED, signed } from './signature.ts'
import { accept, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

const FILTER = { filter: { eventTypes: ['wanted'] } }
const TYPED = { eventTypeField: 'header.x-type' }

/** The table of statuses that ingest writes; `sent` with the type `wanted`. */
const STATUSES: [
  status: string,
  when: string,
  make: () => Promise<Resource>,
  delivered: boolean,
][] = [
  [
    'received',
    'the event matched at least one connection',
    async () => {
      const { source, destination } = await tenant.route({ source: TYPED, connection: FILTER })
      const elsewhere = { filter: { eventTypes: ['other'] } }
      await tenant.connect(source, destination, elsewhere)
      return source
    },
    true,
  ],
  [
    'filtered',
    'event-type filters excluded the event',
    async () => {
      const connection = { filter: { eventTypes: ['other'] } }
      return (await tenant.route({ source: TYPED, connection })).source
    },
    false,
  ],
  ['unmatched', 'the source has no connections', async () => await tenant.make('sources'), false],
  [
    'unmatched',
    'none of its connections is active',
    async () => (await tenant.route({ connection: { isEnabled: false } })).source,
    false,
  ],
]

test.each(STATUSES)('event status: %s when %s', async (status, _when, make, isDelivered) => {
  const source = await make()
  const id = await accept(source, { headers: { 'x-type': 'wanted' } })
  expect(await tenant.get(`/v1/events/${id}`)).toMatchObject({ status })
  if (isDelivered) await tenant.reaches(id, { status: 'succeeded' })
  const { deliveries } = await tenant.get(`/v1/events/${id}`)
  expect(deliveries).toHaveLength(isDelivered ? 1 : 0)
})

const rejectedOf = async (source: Resource): Promise<Resource[]> =>
  (await tenant.get(`/v1/events?sourceId=${source.id}&status=rejected&limit=100`)).data

test('event status: rejected when signature verification failed, "never" delivered', async () => {
  const { source, endpoint } = await tenant.route({ source: SIGNED })
  expect(await send(source, { body: 'forged' })).toMatchObject({ status: 401 })
  // A later event has been delivered.
  await tenant.reaches(await accept(source, signed('{"a":1}')), { status: 'succeeded' })
  const [event] = await rejectedOf(source)
  expect(await tenant.get(`/v1/events/${event.id}`)).toMatchObject({ deliveries: [] })
  expect(endpoint.arrivals.map(({ body }) => body.toString())).toEqual(['{"a":1}'])
})

test.each(['duplicate', 'pending'])(
  'event status: %s is a legacy value, "ingest no longer writes it"',
  async (status) => {
    const source = await tenant.make('sources', { idempotencyKeys: ['header.x-id'] })
    await accept(source, { headers: { 'x-id': '1' } })
    await send(source, { headers: { 'x-id': '1' } })
    const { data } = await tenant.get(`/v1/events?sourceId=${source.id}`)
    expect(data).toMatchObject([{ status: 'unmatched' }])
    expect(await tenant.get(`/v1/events?status=${status}`)).toMatchObject({ data: [] })
  },
)

test('event status: "events never change afterwards", also when connections come', async () => {
  const source = await tenant.make('sources')
  const id = await accept(source)
  const before = await tenant.get(`/v1/events/${id}`)
  const destination = await tenant.make('destinations', { url: 'https://example.com' })
  await tenant.connect(source, destination)
  expect(await tenant.get(`/v1/events/${id}`)).toEqual(before)
})

test('event status rule 1: rejected events are never deduplicated', async () => {
  const source = await tenant.make('sources', {
    ...SIGNED,
    idempotencyKeys: ['header.webhook-id'],
  })
  const forged = { body: '{}', headers: { 'webhook-id': 'msg_1' } }
  for (const status of [401, 401]) expect(await send(source, forged)).toMatchObject({ status })
  expect(await rejectedOf(source)).toHaveLength(2)
  await accept(source, signed('{}', { id: 'msg_1' }))
})

test('event status rule 1: a rejected event cannot be replayed (BAD_REQUEST)', async () => {
  const { source } = await tenant.route({ source: SIGNED })
  await send(source, { body: 'forged' })
  const [event] = await rejectedOf(source)
  expect(await tenant.api('POST', `/v1/events/${event.id}/replay`)).toMatchObject({
    status: 400,
    body: { code: 'BAD_REQUEST' },
  })
})

test('event status rule 3: "rejected events are rate-limited per source", every request is a 401', async () => {
  const source = await tenant.make('sources', SIGNED)
  const other = await tenant.make('sources', SIGNED)
  const flood = Array.from({ length: 200 }, async () => await send(source, { body: 'forged' }))
  const heard = await Promise.all(flood)
  expect(new Set(heard.map(({ status }) => status))).toEqual(new Set([401]))
  const { data, nextCursor } = await tenant.get(`/v1/events?sourceId=${source.id}&limit=100`)
  const { data: rest } = nextCursor
    ? await tenant.get(`/v1/events?sourceId=${source.id}&limit=100&cursor=${nextCursor}`)
    : { data: [] }
  const stored = data.length + rest.length
  expect(stored).toBeGreaterThanOrEqual(50)
  expect(stored).toBeLessThan(200)
  await send(other, { body: 'forged' })
  expect(await rejectedOf(other)).toHaveLength(1)
})
