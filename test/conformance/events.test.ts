import { beforeAll, expect, test } from 'vitest'

import type { Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'
import { nowMs } from './clock.ts'
import { SIGNED } from './signature.ts'
import { accept, eventually, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
let source: Resource
let ids: string[]
beforeAll(async () => {
  tenant = await openTenant()
  source = await tenant.make('sources')
  ids = []
  for (const body of ['first apple', 'second pear', 'third apple']) {
    ids.push(await accept(source, { body }))
  }
})

const idsOf = (page: Resource): string[] => page.data.map(({ id }: { id: string }) => id)

test('events: GET /v1/events lists events', async () => {
  const page = await tenant.get('/v1/events')
  expect(idsOf(page)).toEqual(expect.arrayContaining(ids))
  expect(page.nextCursor).toBeNull()
})

test('events: GET /v1/events/{id} is "one event with its deliveries"', async () => {
  const route = await tenant.route()
  const id = await accept(route.source)
  const delivery = await tenant.reaches(id, { status: 'succeeded' })
  const event = await tenant.get(`/v1/events/${id}`)
  expect(event).toMatchObject({ id, deliveries: [{ id: delivery.id, eventId: id }] })
})

test("events: GET /v1/events/{id}/timeline: ingest phases, then each delivery's attempts", async () => {
  const route = await tenant.route()
  const id = await accept(route.source)
  await tenant.reaches(id, { status: 'succeeded' })
  const timeline = await tenant.get(`/v1/events/${id}/timeline`)
  expect(timeline.phases[0]).toMatchObject({ name: 'received' })
  expect(timeline.deliveries).toMatchObject([{ eventId: id, attempts: [{ responseStatus: 200 }] }])
})

test('events: GET /v1/events/has-any "tells a new empty project from an empty filter result"', async () => {
  const { id } = await tenant.make('projects')
  const inNew = { headers: { 'x-project-id': id } }
  const fresh = await tenant.api('GET', '/v1/events/has-any', undefined, inNew)
  expect(fresh.body).toEqual({ hasAny: false })
  expect(await tenant.get('/v1/events?status=filtered')).toMatchObject({ data: [] })
  expect(await tenant.get('/v1/events/has-any')).toEqual({ hasAny: true })
})

test('events: replay "re-runs the event through its currently active connections", new deliveries', async () => {
  const { source: from, connection, destination, endpoint } = await tenant.route()
  const id = await accept(from)
  const { id: first } = await tenant.reaches(id, { status: 'succeeded' })
  await tenant.post(`/v1/connections/${connection.id}/toggle`, { isEnabled: false })
  const active = await tenant.connect(from, destination)
  const { deliveries } = await tenant.post(`/v1/events/${id}/replay`)
  expect(deliveries).toMatchObject([{ connectionId: active.id, trigger: 'replay', eventId: id }])
  expect(deliveries[0].id).not.toBe(first)
  await eventually(() => expect(endpoint.arrivals).toHaveLength(2))
})

test('events: replay creates deliveries "which are billed", QUOTA_EXCEEDED on hard-capped plans at quota', async () => {
  const hobby = await openTenant('hobby')
  await admin('organisations', 'override', hobby.organisationId, '--set', 'deliveryQuota=2')
  const route = await hobby.route()
  const id = await accept(route.source)
  await hobby.post(`/v1/events/${id}/replay`)
  const { resetAt } = await eventually(async () => {
    const usage = await hobby.get('/v1/billing/usage')
    expect(usage).toMatchObject({ deliveries: 2 })
    return usage
  })
  expect((await hobby.api('POST', `/v1/events/${id}/replay`)).body).toEqual({
    code: 'QUOTA_EXCEEDED',
    status: 429,
    message: expect.any(String),
    data: { limit: 2, current: 2, resetAt },
  })
})

test('events: replay is "not allowed for rejected events" and not for what is not there', async () => {
  const strict = await tenant.make('sources', SIGNED)
  await send(strict)
  const [rejected] = idsOf(await tenant.get(`/v1/events?sourceId=${strict.id}`))
  const refused = await tenant.api('POST', `/v1/events/${rejected}/replay`)
  expect(refused).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  const unknown = await tenant.api('POST', `/v1/events/evt_${'0'.repeat(26)}/replay`)
  expect(unknown).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
})

test('events, sourceId: "only events of this source"', async () => {
  await accept(await tenant.make('sources'))
  const page = await tenant.get(`/v1/events?sourceId=${source.id}`)
  expect(idsOf(page)).toEqual(ids.toReversed())
})

const STATUSES = ['pending', 'received', 'filtered', 'duplicate', 'rejected', 'unmatched']

test.each(STATUSES)('events, status: "%s" matches exactly', async (status) => {
  const { data } = await tenant.get(`/v1/events?status=${status}&limit=100`)
  const found = data.map((event: Resource) => event.status)
  expect(new Set(found)).toEqual(new Set(found.length > 0 ? [status] : []))
  const { data: all } = await tenant.get('/v1/events?limit=100')
  const expected = all.filter((event: Resource) => event.status === status)
  expect(idsOf({ data })).toEqual(idsOf({ data: expected }))
})

test('events, from and to: created "on or after from and on or before to"', async () => {
  const { createdAt } = await tenant.get(`/v1/events/${ids[1]}`)
  const at = encodeURIComponent(createdAt)
  const both = idsOf(await tenant.get(`/v1/events?sourceId=${source.id}&from=${at}&to=${at}`))
  expect(both).toContain(ids[1])
  const later = new Date(nowMs() + 1_000).toISOString()
  expect(await tenant.get(`/v1/events?sourceId=${source.id}&from=${later}`)).toMatchObject({
    data: [],
  })
  const before = new Date(Date.parse(createdAt) - 60_000).toISOString()
  const none = await tenant.get(`/v1/events?sourceId=${source.id}&to=${before}`)
  expect(none.data).toEqual([])
})

test('events, limit: integer 1 to 100, default 20', async () => {
  const many = await tenant.make('sources')
  await Promise.all(Array.from({ length: 101 }, async () => await accept(many)))
  for (const [query, length] of [
    ['', 20],
    ['&limit=1', 1],
    ['&limit=100', 100],
  ] as const) {
    expect((await tenant.get(`/v1/events?sourceId=${many.id}${query}`)).data).toHaveLength(length)
  }
})

test('events, cursor: "the cursor from the previous page"', async () => {
  const path = `/v1/events?sourceId=${source.id}&limit=2`
  const { data, nextCursor } = await tenant.get(path)
  const rest = await tenant.get(`${path}&cursor=${encodeURIComponent(nextCursor)}`)
  expect([...idsOf({ data }), ...idsOf(rest)]).toEqual(ids.toReversed())
  expect(rest.nextCursor).toBeNull()
})

test('events, search: finds by its term', async () => {
  await eventually(async () => {
    const page = await tenant.get(`/v1/events?sourceId=${source.id}&search=apple`)
    expect(idsOf(page)).toEqual([ids[2], ids[0]])
  })
  const longest = 'x'.repeat(255)
  expect(await tenant.get(`/v1/events?search=${longest}`)).toMatchObject({ data: [] })
})

test('events, sortBy and sortDir: asc or desc', async () => {
  const path = `/v1/events?sourceId=${source.id}&sortBy=createdAt`
  await eventually(async () => {
    expect(idsOf(await tenant.get(`${path}&sortDir=asc`))).toEqual(ids)
  })
  expect(idsOf(await tenant.get(`${path}&sortDir=desc`))).toEqual(ids.toReversed())
})

const WRONG: [parameter: string, what: string, value: string][] = [
  ['sourceId', 'no id', 'nothing'],
  ['status', 'no status', 'lost'],
  ['from', 'no time', 'yesterday'],
  ['to', 'no time', 'tomorrow'],
  ['limit', '0', '0'],
  ['limit', '101', '101'],
  ['limit', 'no integer', '1.5'],
  ['cursor', 'no cursor', 'nothing'],
  ['search', '256 characters', 'x'.repeat(256)],
  ['sortBy', 'no field', 'mood'],
  ['sortDir', 'no direction', 'up'],
]

test.each(WRONG)('events, %s: %s is BAD_REQUEST', async (parameter, _what, value) => {
  const answer = await tenant.api('GET', `/v1/events?${parameter}=${value}`)
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'BAD_REQUEST', data: { fields: [{ path: `query.${parameter}` }] } },
  })
})
