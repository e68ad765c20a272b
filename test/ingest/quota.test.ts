import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { overridePlan } from '../../api/accounts/organisations/organisations.ts'
import { DAY_MS } from '../../core/clock.ts'
import { listLedger } from '../../core/db/billing/ledger.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import type { EntitlementOverrides } from '../../core/plans/plans.ts'
import {
  eventually,
  startRelay,
  type IngestProcess,
  type Relay,
  type Resource,
} from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'
import type { Tenant } from '../kit/world.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

let relay: Relay
let second: IngestProcess
beforeAll(async () => {
  relay = await startRelay()
  second = await relay.openIngest()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function negotiate({ organisationId }: Tenant, set: EntitlementOverrides): Promise<void> {
  const id = uuid('org', organisationId)
  await overridePlan({ ...relay.deps, actor: TESTER }, id, { clear: true, set })
  await announceChanges(relay, [{ kind: 'organisation', id }])
}

async function usage(tenant: Tenant): Promise<Resource> {
  return await relay.get('/v1/billing/usage', tenant.key)
}

async function post(tenant: Tenant, path: string, body: object = {}): Promise<Resource> {
  const answer = await relay.api('POST', path, body, { key: tenant.key })
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A source whose events go to so many connections. */
async function fanOut(tenant: Tenant, count: number, source: object = {}): Promise<Resource> {
  const { key } = tenant
  const opened = await relay.route({ key, source })
  for (let n = 1; n < count; n++) {
    const fields = { sourceId: opened.source.id, destinationId: opened.destination.id }
    await relay.make('connections', fields, key)
  }
  return opened.source
}

/** The ids of deliveries that ingest and replay made for the tenant and that are still kept: what is billed. */
async function delivered({ organisationId }: Tenant): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select d.id from delivery d join project p on p.id = d.project_id
    where p.organisation_id = ${uuid('org', organisationId)} and d.trigger in ('ingest', 'replay')`.execute(
    relay.db,
  )
  return rows.map(({ id }) => id)
}

async function moveTo(ms: number): Promise<void> {
  await relay.advance(ms - relay.clock.now())
}

test('a hard cap lets exactly the quota of 50 requests at once through two processes', async () => {
  const tenant = await relay.createTenant('hobby')
  await negotiate(tenant, { deliveryQuota: 20, ingestRequestsPerSecond: null })
  const source = await fanOut(tenant, 1)
  const heard = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      relay.send(source, { body: '{}', to: n % 2 === 0 ? relay.ingest : second }),
    ),
  )
  const { resetAt } = await usage(tenant)
  expect(heard.filter(({ status }) => status === 200)).toHaveLength(20)
  for (const { body } of heard.filter(({ status }) => status !== 200)) {
    expect(body).toMatchObject({
      ok: false,
      code: 'QUOTA_EXCEEDED',
      data: { limit: 20, current: 20, resetAt },
    })
  }
  expect(await usage(tenant)).toMatchObject({ deliveries: 20, limit: 20, overage: 0 })
  expect(await delivered(tenant)).toHaveLength(20)
})

test('below the limit the whole fan-out is accepted; duplicates and retries are never counted', async () => {
  const tenant = await relay.createTenant('hobby')
  await negotiate(tenant, { deliveryQuota: 4 })
  const source = await fanOut(tenant, 3, { idempotencyKeys: ['body.id'] })
  const send = async (id: string): Promise<Resource> =>
    await relay.send(source, { headers: JSON_TYPE, body: JSON.stringify({ id }) })
  expect((await send('a')).status).toBe(200)
  expect((await send('b')).status).toBe(200)
  expect((await send('c')).body).toMatchObject({ code: 'QUOTA_EXCEEDED', data: { current: 6 } })
  expect((await send('a')).body).toEqual({ ok: true, duplicate: true })
  const delivery = await eventually(async () => await first(tenant))
  await post(tenant, `/v1/deliveries/${delivery.id}/retry`)
  expect(await usage(tenant)).toMatchObject({ deliveries: 6, overage: 0 })
})

test('past the quota a request that comes twice at once is refused twice: nobody has stored it', async () => {
  const tenant = await relay.createTenant('hobby')
  await negotiate(tenant, { deliveryQuota: 1, ingestRequestsPerSecond: null })
  const source = await fanOut(tenant, 1, { idempotencyKeys: ['body.id'] })
  const send = async (id: string): Promise<Resource> =>
    (await relay.send(source, { headers: JSON_TYPE, body: JSON.stringify({ id }) })).body
  expect(await send('a')).toMatchObject({ ok: true, eventId: expect.any(String) })
  const heard = await Promise.all(Array.from({ length: 40 }, (_, n) => send(`late ${n % 2}`)))
  expect(heard.map(({ code }) => code)).toEqual(Array(40).fill('QUOTA_EXCEEDED'))
  expect(await send('a')).toEqual({ ok: true, duplicate: true })
})

async function first(tenant: Tenant): Promise<Resource> {
  const { data } = await relay.get('/v1/deliveries?status=succeeded', tenant.key)
  if (data.length === 0) throw new Error('Nothing was delivered yet')
  return data[0]
}

test('a plan with overage never refuses: what is past the quota is metered and shows within 2 s', async () => {
  const tenant = await relay.createTenant('launch')
  await negotiate(tenant, { deliveryQuota: 3 })
  const source = await fanOut(tenant, 2)
  for (let n = 0; n < 4; n++) await relay.accept(source)
  expect(await usage(tenant)).toMatchObject({ deliveries: 8, limit: 3, overage: 5 })
})

test('a plan change reaches every ingest process before it is answered', async () => {
  const tenant = await relay.createTenant('enterprise')
  const source = await fanOut(tenant, 1)
  await relay.accept(source)
  await relay.accept(source, { to: second })
  await post(tenant, '/v1/billing/change-plan', { plan: 'launch', when: 'now' })
  await relay.accept(source)
  await relay.accept(source, { to: second })
  const { subscription } = await relay.get('/v1/billing/plan', tenant.key)
  const windowStart = subscription.currentPeriodStart
  expect(await usage(tenant)).toMatchObject({ deliveries: 2, windowStart })
  const { rows } = await sql<{ retentionClass: number }>`
    select class as "retentionClass" from event where organisation_id = ${uuid('org', tenant.organisationId)}
    order by id`.execute(relay.db)
  expect(rows.map((row) => row.retentionClass)).toEqual([90, 90, 7, 7])
})

test("a subscription's window rolls over exactly at its end in every process that holds it in memory", async () => {
  const tenant = await relay.createTenant('enterprise')
  const source = await fanOut(tenant, 1)
  const { subscription } = await post(tenant, '/v1/billing/change-plan', { plan: 'hobby' })
  await negotiate(tenant, { deliveryQuota: 2 })
  const both = [relay.ingest, second]
  for (const to of both) await relay.accept(source, { to })
  for (const to of both) {
    const { body } = await relay.send(source, { to })
    expect(body.data).toEqual({ limit: 2, current: 2, resetAt: subscription.currentPeriodEnd })
  }
  // A second before the end, and a second after: no notice is sent in between.
  const endMs = Date.parse(subscription.currentPeriodEnd)
  await moveTo(endMs - 1_500)
  for (const to of both) expect((await relay.send(source, { to })).status).toBe(429)
  await moveTo(endMs + 5)
  for (const to of both) await relay.accept(source, { to })
  const { body } = await relay.send(source)
  expect(body.data).toMatchObject({ limit: 2, current: 2 })
  expect(Date.parse(body.data.resetAt)).toBeGreaterThan(endMs + 27 * DAY_MS)
  expect(await usage(tenant)).toMatchObject({
    deliveries: 2,
    windowStart: subscription.currentPeriodEnd,
  })
})

test('a scheduled downgrade to a hard cap holds at ingest from the boundary on', async () => {
  const tenant = await relay.createTenant('enterprise')
  const source = await fanOut(tenant, 1)
  const { subscription } = await post(tenant, '/v1/billing/change-plan', { plan: 'launch' })
  await post(tenant, '/v1/billing/change-plan', { plan: 'hobby' })
  await relay.accept(source)
  await moveTo(Date.parse(subscription.currentPeriodEnd) + 5)
  await relay.accept(source)
  const rows = await eventually(async () => {
    const found = await sql<{ plan: string; retention_class: number }>`
      select plan, retention_class from organisation
      where id = ${uuid('org', tenant.organisationId)}`.execute(relay.db)
    expect(found.rows).toEqual([{ plan: 'hobby', retention_class: 3 }])
    return found.rows
  })
  expect(rows).toHaveLength(1)
  // Counted in the transaction itself, which only a hard cap does.
  await relay.accept(source)
  const { rows: counted } = await sql<{ deliveries: number }>`
    select deliveries from usage where organisation_id = ${uuid('org', tenant.organisationId)}
      and window_started_at = ${new Date(subscription.currentPeriodEnd)}`.execute(relay.db)
  expect(counted).toEqual([{ deliveries: 2 }])
}, 90_000)

test('without a subscription the window is the calendar month and rolls over with it', async () => {
  const tenant = await relay.createTenant('hobby')
  await negotiate(tenant, { deliveryQuota: 1 })
  const source = await fanOut(tenant, 1)
  await relay.accept(source)
  const { body } = await relay.send(source)
  const { resetAt } = body.data
  expect(resetAt).toMatch(/-01T00:00:00.000Z$/)
  await moveTo(Date.parse(resetAt) + 5)
  await relay.accept(source)
  expect(await usage(tenant)).toMatchObject({ deliveries: 1, windowStart: resetAt })
}, 90_000)

test("the sum of the ledger's windows is the number of deliveries that ingest and replay made", async () => {
  const tenant = await relay.createTenant('enterprise')
  const source = await fanOut(tenant, 3, { idempotencyKeys: ['body.id'] })
  // Retention takes them away as time goes on.
  const made = new Set<string>()
  const passTo = async (ms: number): Promise<void> => {
    for (const id of await delivered(tenant)) made.add(id)
    await moveTo(ms)
  }
  const send = async (id: number): Promise<string> =>
    await relay.accept(source, { headers: JSON_TYPE, body: JSON.stringify({ id }) })
  // A month without a subscription, two periods of one (metered, then hard-capped), and a month again.
  const eventId = await send(1)
  await post(tenant, `/v1/events/${eventId}/replay`)
  const { subscription } = await post(tenant, '/v1/billing/change-plan', { plan: 'scale' })
  await Promise.all(Array.from({ length: 20 }, (_, n) => send(10 + (n % 15))))
  await post(tenant, '/v1/billing/change-plan', { plan: 'hobby' })
  await passTo(Date.parse(subscription.currentPeriodEnd) + 5)
  await Promise.all(Array.from({ length: 5 }, (_, n) => send(100 + n)))
  await post(tenant, '/v1/billing/cancel')
  const { subscription: last } = await relay.get('/v1/billing/plan', tenant.key)
  await passTo(Date.parse(last.currentPeriodEnd) + 5)
  const newest = await send(200)
  await post(tenant, `/v1/events/${newest}/replay`)
  await passTo(relay.clock.now() + 40 * DAY_MS)
  const windows = await eventually(async () => {
    const ledger = await listLedger(relay.db, uuid('org', tenant.organisationId), {
      limit: 100,
      afterId: undefined,
    })
    const closed = ledger.filter(({ kind }) => kind === 'window.closed')
    expect(closed.reduce((sum, { deliveries }) => sum + (deliveries ?? 0), 0)).toBe(made.size)
    return closed
  }, 15_000)
  expect(made.size).toBe(6 + 45 + 15 + 6)
  // A window that is being counted at that moment is closed later than those after it.
  const sums = windows
    .filter(({ deliveries }) => deliveries !== 0)
    .toSorted((a, b) => (a.window?.startedAtMs ?? 0) - (b.window?.startedAtMs ?? 0))
  expect(sums.map(({ plan, deliveries }) => [plan, deliveries])).toEqual([
    ['enterprise', 6],
    ['scale', 45],
    ['hobby', 15],
    ['hobby', 6],
  ])
  const spans = sums.flatMap(({ window }) => (window === null ? [] : [window]))
  expect(spans.slice(1).map(({ startedAtMs }) => startedAtMs)).toEqual(
    spans.slice(0, -1).map(({ endsAtMs }) => endsAtMs),
  )
}, 90_000)
