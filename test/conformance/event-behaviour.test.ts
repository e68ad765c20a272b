import { beforeAll, expect, inject, test } from 'vitest'

import { DAY_MS, HOUR_MS } from '../../core/clock.ts'
import type { PlanName } from '../../core/plans/plans.ts'
import { listen } from '../kit/event-stream.ts'
import type { Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'
import { advance } from './clock.ts'
import { accept, eventually, openEndpoint, openTenant, send, type Tenant } from './tenant.ts'

const { apiUrl } = inject('installation')

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

test('events 1: "ingest success returns the event id; a duplicate returns the duplicate acknowledgement"', async () => {
  const source = await tenant.make('sources', { idempotencyKeys: ['header.x-id'] })
  const sent = { headers: { 'x-id': '1' } }
  const { eventId } = (await send(source, sent)).body
  expect(await tenant.get(`/v1/events/${eventId}`)).toMatchObject({ id: eventId })
  expect((await send(source, sent)).body).toEqual({ ok: true, duplicate: true })
})

test('events 2: GET /v1/events/stream "delivers new events as Server-Sent Events"', async () => {
  const source = await tenant.make('sources')
  const before = await accept(source)
  using listener = await listen(apiUrl, { key: tenant.key, query: `?sourceId=${source.id}` })
  expect(listener.status).toBe(200)
  expect(listener.headers['content-type']).toMatch(/^text\/event-stream/)
  await listener.heard('ready')
  const ids = [await accept(source), await accept(source)]
  await listener.hears(ids)
  expect(listener.events()).not.toContain(before)
})

test('events 3: "one event routed to one connection is one delivery", and "replay creates new deliveries"', async () => {
  const { source, destination, endpoint } = await tenant.route()
  const other = await openEndpoint()
  const to = await tenant.make('destinations', { url: other.url })
  await tenant.connect(source, destination)
  await tenant.connect(source, to)
  const id = await accept(source)
  await eventually(() => {
    expect([endpoint.arrivals.length, other.arrivals.length]).toEqual([2, 1])
  })
  await tenant.post(`/v1/events/${id}/replay`)
  await eventually(() => {
    expect([endpoint.arrivals.length, other.arrivals.length]).toEqual([4, 2])
  })
  const { deliveries } = await tenant.get(`/v1/events/${id}`)
  expect(new Set(deliveries.map((one: Resource) => one.id)).size).toBe(6)
})

/** With the longest first: each event is stored so that all are past their retention at one moment. */
const RETENTION: [plan: PlanName, days: number][] = [
  ['enterprise', 90],
  ['scale', 30],
  ['launch', 7],
  ['hobby', 3],
]

test('events 4: events and deliveries are purged once older than: Hobby 3 days, Launch 7, Scale 30, Enterprise 90', async () => {
  const owners = await Promise.all(RETENTION.map(([plan]) => openTenant(plan)))
  const paths: { owner: Tenant; plan: PlanName; event: string; delivery: string }[] = []
  let daysLeft = RETENTION[0]?.[1] ?? 0
  for (const [at, [plan, days]] of RETENTION.entries()) {
    advance((daysLeft - days) * DAY_MS)
    daysLeft = days
    const owner = owners[at] ?? tenant
    const { source } = await owner.route()
    const id = await eventually(async () => await accept(source))
    const delivery = await owner.reaches(id, { status: 'succeeded' }, 20_000)
    paths.push({
      owner,
      plan,
      event: `/v1/events/${id}`,
      delivery: `/v1/deliveries/${delivery.id}`,
    })
  }
  const statusesAfterPurge = async (): Promise<unknown[]> => {
    await eventually(async () => await admin('retention', 'run'), 20_000)
    return await Promise.all(
      paths.map(async ({ owner, plan, event, delivery }) => [
        plan,
        (await owner.api('GET', event)).status,
        (await owner.api('GET', delivery)).status,
      ]),
    )
  }
  advance(daysLeft * DAY_MS - HOUR_MS)
  expect(await statusesAfterPurge()).toEqual(RETENTION.map(([plan]) => [plan, 200, 200]))
  advance(2 * HOUR_MS)
  expect(await statusesAfterPurge()).toEqual(RETENTION.map(([plan]) => [plan, 404, 404]))
  for (const { owner, event } of paths) {
    expect(await owner.api('POST', `${event}/replay`)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    })
  }
}, 90_000)
