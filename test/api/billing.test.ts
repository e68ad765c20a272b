import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { overridePlan } from '../../api/accounts/organisations/organisations.ts'
import { closeWindows } from '../../core/billing/close-windows.ts'
import { DAY_MS } from '../../core/clock.ts'
import { listLedger, type LedgerEntry } from '../../core/db/billing/ledger.ts'
import { foldUsage } from '../../core/db/billing/usage.ts'
import type { EntitlementOverrides } from '../../core/plans/plans.ts'
import { followPlans, keepBilling } from '../../dataplane/housekeeper/tasks/billing.ts'
import { seedPerson, signIn } from '../kit/browser-like.ts'
import type { Answer } from '../kit/call-api.ts'
import { seedRoute, seedEvent, uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** The management API as one tenant's key sees it. */
interface Customer extends Tenant {
  get: (path: string) => Promise<Answer['body']>
  post: (path: string, body?: object) => Promise<Answer>
  ledger: () => Promise<LedgerEntry[]>
  audit: () => Promise<string[]>
}

async function customerOn(plan: 'hobby' | 'launch' | 'scale' | 'enterprise'): Promise<Customer> {
  const tenant = await world.createTenant(plan)
  const { key, organisationId } = tenant
  const id = uuid('org', organisationId)
  return {
    ...tenant,
    get: async (path) => (await world.api('GET', `/v1/billing/${path}`, undefined, { key })).body,
    post: async (path, body) => await world.api('POST', `/v1/billing/${path}`, body, { key }),
    ledger: async () => await listLedger(world.db, id, { limit: 100, afterId: undefined }),
    audit: async () => {
      const query = `select action from audit where organisation_id = $1 order by at, id`
      const { rows } = await world.pool.query<{ action: string }>(query, [id])
      return rows.map(({ action }) => action)
    },
  }
}

async function negotiate(organisationId: string, set: EntitlementOverrides): Promise<void> {
  const tenancy = { ...world.deps, actor: TESTER }
  await overridePlan(tenancy, uuid('org', organisationId), { clear: false, set })
}

/** Deliveries that ingest counted at this moment. */
async function count(organisationId: string, deliveries: number, atMs: number): Promise<void> {
  await world.db
    .insertInto('usage_delta')
    .values({ organisation_id: uuid('org', organisationId), at: new Date(atMs), deliveries })
    .execute()
}

test('GET /v1/billing/plan is the plan and its entitlements; without a subscription that is null', async () => {
  const { get } = await customerOn('scale')
  expect(await get('plan')).toEqual({
    plan: 'scale',
    entitlements: {
      retentionDays: 30,
      maxDeliveriesPerSecond: 200,
      burstDeliveriesPerSecond: 400,
      deliveryQuota: 1_000_000,
      isHardCapped: false,
      connectors: 10,
      replicasPerConnector: 5,
      seats: 20,
    },
    subscription: null,
  })
})

test('GET /v1/billing/usage is folded and unfolded deliveries of the UTC calendar month', async () => {
  const { get, organisationId } = await customerOn('launch')
  const now = new Date(world.clock.now())
  const month = [now.getUTCFullYear(), now.getUTCMonth()] as const
  await count(organisationId, 60_000, now.getTime())
  while ((await foldUsage(world.db)) > 0);
  await count(organisationId, 40_001, now.getTime())
  await count(organisationId, 7, Date.UTC(...month) - 1)
  const expected = {
    deliveries: 100_001,
    limit: 100_000,
    overage: 1,
    windowStart: new Date(Date.UTC(...month)).toISOString(),
    resetAt: new Date(Date.UTC(month[0], month[1] + 1)).toISOString(),
  }
  expect(await get('usage')).toEqual(expected)
  while ((await foldUsage(world.db)) > 0);
  expect(await get('usage')).toEqual(expected)
  const capped = await customerOn('hobby')
  await count(capped.organisationId, 10_001, now.getTime())
  expect(await capped.get('usage')).toMatchObject({ limit: 10_000, overage: 0 })
  const unlimited = await customerOn('enterprise')
  expect(await unlimited.get('usage')).toMatchObject({ deliveries: 0, limit: null, overage: 0 })
})

test('a change of plan starts a subscription, whose period is the usage window from then on', async () => {
  const { get, post, organisationId, ledger, audit } = await customerOn('enterprise')
  await count(organisationId, 5, world.clock.now() - 1)
  const { status, body } = await post('change-plan', { plan: 'launch' })
  expect(status).toBe(200)
  expect(body).toMatchObject({ plan: 'launch', entitlements: { retentionDays: 7 } })
  const { currentPeriodStart, currentPeriodEnd, ...rest } = body.subscription
  expect(rest).toEqual({ status: 'active', cancelAtPeriodEnd: false, scheduledChange: null })
  expect(Date.parse(currentPeriodEnd) - Date.parse(currentPeriodStart)).toBeGreaterThan(27 * DAY_MS)
  expect(await get('plan')).toEqual(body)
  await count(organisationId, 3, world.clock.now())
  const usage = {
    deliveries: 3,
    limit: 100_000,
    windowStart: currentPeriodStart,
    resetAt: currentPeriodEnd,
  }
  expect(await get('usage')).toMatchObject(usage)
  while ((await foldUsage(world.db)) > 0);
  expect(await get('usage')).toMatchObject(usage)
  expect((await ledger()).map(({ kind }) => kind)).toEqual(['subscription.started', 'plan.changed'])
  expect(await audit()).toContain('billing.change_plan')
})

test('a plan change moves the retention class and makes its partitions at once', async () => {
  const { post, organisationId } = await customerOn('enterprise')
  await post('change-plan', { plan: 'launch', when: 'now' })
  const query = `select retention_class, plan from organisation where id = $1`
  const { rows } = await world.pool.query(query, [uuid('org', organisationId)])
  expect(rows).toEqual([{ retention_class: 7, plan: 'launch' }])
  const days = await world.pool.query(`select from pg_class where relname ~ '^event_7_2'`)
  expect(days.rowCount).toBeGreaterThan(10)
})

test('an organisation follows what PLANS_FILE makes of its plan', async () => {
  const { organisationId } = await customerOn('scale')
  const plans = { ...world.deps.plans, scale: { ...world.deps.plans.scale, retentionDays: 5 } }
  const query = `select retention_class from organisation where id = $1`
  const stored = async (): Promise<unknown> =>
    (await world.pool.query(query, [uuid('org', organisationId)])).rows
  await followPlans({ ...world.deps, plans })
  expect(await stored()).toEqual([{ retention_class: 7 }])
  await followPlans(world.deps)
  expect(await stored()).toEqual([{ retention_class: 30 }])
})

describe('a subscription', () => {
  test('cancel ends it at the period end, resume takes that back', async () => {
    const { get, post, ledger, audit } = await customerOn('enterprise')
    await post('change-plan', { plan: 'scale' })
    const { body } = await post('cancel')
    expect(body).toMatchObject({
      plan: 'scale',
      subscription: { status: 'active', cancelAtPeriodEnd: true },
    })
    expect((await post('cancel', {})).body).toMatchObject({ code: 'CONFLICT', status: 409 })
    expect((await post('change-plan', { plan: 'launch' })).body.message).toContain(
      'resume it first',
    )
    expect((await post('resume')).body.subscription.cancelAtPeriodEnd).toBe(false)
    expect((await post('resume')).body.message).toBe(
      'Cannot resume: the subscription is not being cancelled',
    )
    expect((await get('plan')).subscription).toMatchObject({ cancelAtPeriodEnd: false })
    const kinds = (await ledger()).map(({ kind }) => kind)
    expect(kinds.slice(2)).toEqual(['subscription.cancel_scheduled', 'subscription.resumed'])
    expect(await audit()).toEqual(expect.arrayContaining(['billing.cancel', 'billing.resume']))
  })

  test('a downgrade waits for the period end and can be reverted; an upgrade takes effect now', async () => {
    const { post } = await customerOn('enterprise')
    const started = await post('change-plan', { plan: 'launch' })
    const at = started.body.subscription.currentPeriodEnd
    const down = await post('change-plan', { plan: 'hobby' })
    expect(down.body).toMatchObject({
      plan: 'launch',
      subscription: { scheduledChange: { plan: 'hobby', at } },
    })
    const reverted = await post('revert-scheduled-change')
    expect(reverted.body.subscription.scheduledChange).toBeNull()
    expect((await post('revert-scheduled-change')).body).toMatchObject({
      code: 'CONFLICT',
      status: 409,
    })
    const up = await post('change-plan', { plan: 'scale' })
    expect(up.body).toMatchObject({
      plan: 'scale',
      subscription: { currentPeriodEnd: at, scheduledChange: null },
    })
    expect((await post('change-plan', { plan: 'scale', when: 'period_end' })).status).toBe(409)
  })

  test('an action that needs a subscription is 409 without one', async () => {
    const { post } = await customerOn('enterprise')
    for (const path of ['cancel', 'resume', 'revert-scheduled-change']) {
      const { body } = await post(path)
      expect(body, path).toMatchObject({ code: 'CONFLICT', status: 409 })
      expect(body.message).toContain('there is no subscription')
    }
  })
})

test('time alone carries a subscription on: every read shows it before anything has written it', async () => {
  const own = await startWorld()
  await using _ = own
  const { key } = own
  const post = async (path: string, body: object = {}): Promise<Answer['body']> =>
    (await own.api('POST', `/v1/billing/${path}`, body)).body
  const get = async (path: string): Promise<Answer['body']> =>
    (await own.api('GET', `/v1/billing/${path}`, undefined, { key })).body
  const { subscription } = await post('change-plan', { plan: 'scale' })
  await post('change-plan', { plan: 'launch', when: 'period_end' })
  const organisationId = uuid('org', own.organisationId)
  const boundaryMs = Date.parse(subscription.currentPeriodEnd)
  own.clock.advance(boundaryMs - own.clock.now() + 1_000)
  const read = await get('plan')
  expect(read).toMatchObject({
    plan: 'launch',
    entitlements: { retentionDays: 7 },
    subscription: { currentPeriodStart: subscription.currentPeriodEnd, scheduledChange: null },
  })
  const stored = `select plan, retention_class from organisation where id = $1`
  expect((await own.pool.query(stored, [organisationId])).rows[0].plan).toBe('scale')

  const deps = { ...own.deps, nats: own.nats }
  await keepBilling(deps)
  expect((await own.pool.query(stored, [organisationId])).rows).toEqual([
    { plan: 'launch', retention_class: 7 },
  ])
  expect(await get('plan')).toEqual(read)

  await post('cancel')
  own.clock.advance(Date.parse(read.subscription.currentPeriodEnd) - own.clock.now() + 5)
  expect(await get('plan')).toMatchObject({ plan: 'hobby', subscription: { status: 'cancelled' } })
  const window = await get('usage')
  expect(window.windowStart).toBe(read.subscription.currentPeriodEnd)
  expect(window.resetAt.slice(7)).toBe('-01T00:00:00.000Z')
  expect((await own.api('POST', '/v1/billing/resume')).body.message).toBe(
    'Cannot resume: the subscription ended',
  )
  await keepBilling(deps)
  expect((await own.pool.query(stored, [organisationId])).rows).toEqual([
    { plan: 'hobby', retention_class: 3 },
  ])
  expect(await get('plan')).toMatchObject({ plan: 'hobby', subscription: { status: 'cancelled' } })
  expect(await post('change-plan', { plan: 'launch' })).toMatchObject({
    plan: 'launch',
    subscription: { status: 'active' },
  })
})

test('a negotiated plan is overrides on a plan: it is shown, and no client changes it', async () => {
  const { get, post, organisationId, audit, ledger } = await customerOn('scale')
  await negotiate(organisationId, { deliveryQuota: 5_000_000, seats: null, retentionDays: 45 })
  const { plan, entitlements } = await get('plan')
  expect([
    plan,
    entitlements.deliveryQuota,
    entitlements.seats,
    entitlements.retentionDays,
  ]).toEqual(['scale', 5_000_000, null, 45])
  expect((await get('usage')).limit).toBe(5_000_000)
  for (const [path, body] of [
    ['change-plan', { plan: 'launch' }],
    ['cancel', {}],
    ['resume', {}],
    ['revert-scheduled-change', {}],
  ] as const) {
    const answer = await post(path, body)
    expect(answer.body, path).toMatchObject({ code: 'CONFLICT', status: 409 })
    expect(answer.body.message).toContain('negotiated plan')
  }
  expect(await audit()).toContain('organisation.override')
  expect((await ledger()).map(({ kind }) => kind)).toEqual(['plan.overridden'])
})

test('billing mutations need an explicit Read and write grant, reads Read', async () => {
  const mutations = ['cancel', 'resume', 'change-plan', 'revert-scheduled-change']
  const keys = {
    unscoped: (await world.createKey(null)).key,
    reader: (await world.createKey({ billing: 'read' })).key,
    other: (await world.createKey({ sources: 'write' })).key,
    writer: (await world.createKey({ billing: 'write' })).key,
  }
  const code = async (method: string, path: string, key: string): Promise<unknown> =>
    (await world.api(method, `/v1/billing/${path}`, method === 'POST' ? {} : undefined, { key }))
      .body.code
  for (const path of mutations) {
    for (const key of [keys.unscoped, keys.reader, keys.other]) {
      expect(await code('POST', path, key), path).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
    }
    expect(await code('POST', path, keys.writer), path).not.toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
  }
  for (const path of ['plan', 'usage']) {
    expect(await code('GET', path, keys.other)).toBe('INSUFFICIENT_API_KEY_PERMISSIONS')
    for (const key of [keys.unscoped, keys.reader, keys.writer]) {
      expect(await code('GET', path, key)).toBeUndefined()
    }
  }
})

test('a replay is billed, and refused at the quota of a hard-capped plan with limit, current and resetAt', async () => {
  const { key, projectId, organisationId, get } = await customerOn('hobby')
  const { sourceId } = await seedRoute(world, 'replayed', key)
  const eventId = await seedEvent(world, { sourceId, projectId, organisationId })
  await negotiate(organisationId, { deliveryQuota: 2 })
  const replay = async (): Promise<Answer> =>
    await world.api('POST', `/v1/events/${eventId}/replay`, {}, { key })
  expect([(await replay()).status, (await replay()).status]).toEqual([202, 202])
  const { resetAt, deliveries } = await get('usage')
  expect(deliveries).toBe(2)
  expect((await replay()).body).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    status: 429,
    data: { limit: 2, current: 2, resetAt },
  })
  expect((await get('usage')).deliveries).toBe(2)
})

describe('the ledger', () => {
  test('nobody can change or delete what it holds', async () => {
    const { post } = await customerOn('enterprise')
    await post('change-plan', { plan: 'launch' })
    for (const statement of [
      'update ledger set deliveries = 0',
      'delete from ledger',
      'truncate ledger',
    ]) {
      await expect(world.pool.query(statement)).rejects.toThrow('append-only')
    }
  })

  test('holds each window once it is over, with its overage, and what was counted late on top', async () => {
    await using own = await startWorld({ plan: 'launch' })
    const organisation_id = uuid('org', own.organisationId)
    const add = async (deliveries: number, atMs: number): Promise<void> => {
      await own.db
        .insertInto('usage_delta')
        .values({ organisation_id, at: new Date(atMs), deliveries })
        .execute()
      await foldUsage(own.db)
    }
    const closed = async (): Promise<(number | null)[][]> =>
      (await listLedger(own.db, organisation_id, { limit: 100, afterId: undefined }))
        .filter(({ kind }) => kind === 'window.closed')
        .map(({ deliveries, overage }) => [deliveries, overage])
    const startMs = own.clock.now()
    await add(100_010, startMs)
    expect(await closeWindows(own.db, own.deps)).toBe(0)
    own.clock.advance(32 * DAY_MS)
    await add(1, own.clock.now())
    expect(await closeWindows(own.db, own.deps)).toBe(1)
    expect(await closeWindows(own.db, own.deps)).toBe(0)
    expect(await closed()).toEqual([[100_010, 10]])
    await add(4, startMs)
    expect(await closeWindows(own.db, own.deps)).toBe(1)
    expect(await closed()).toEqual([
      [100_010, 10],
      [4, 4],
    ])
  })

  test('a delta after a boundary that is not written yet waits, and lands in the new period', async () => {
    await using own = await startWorld()
    const organisation_id = uuid('org', own.organisationId)
    const { body } = await own.api('POST', '/v1/billing/change-plan', { plan: 'scale' })
    const boundaryMs = Date.parse(body.subscription.currentPeriodEnd)
    await own.db
      .insertInto('usage_delta')
      .values([
        { organisation_id, at: new Date(boundaryMs - 1), deliveries: 2 },
        { organisation_id, at: new Date(boundaryMs), deliveries: 3 },
      ])
      .execute()
    expect(await foldUsage(own.db)).toBe(1)
    own.clock.advance(boundaryMs - own.clock.now())
    const usage = async (): Promise<unknown> => (await own.api('GET', '/v1/billing/usage')).body
    const expected = { deliveries: 3, windowStart: body.subscription.currentPeriodEnd }
    expect(await usage()).toMatchObject(expected)
    await keepBilling({ ...own.deps, nats: own.nats })
    expect(await foldUsage(own.db)).toBe(1)
    expect(await usage()).toMatchObject(expected)
  })
})

test('two changes at once leave one subscription and one of the two plans', async () => {
  const { post, get } = await customerOn('enterprise')
  const answers = await Promise.all(
    (['launch', 'scale', 'hobby', 'launch', 'scale'] as const).map((plan) =>
      post('change-plan', { plan, when: 'now' }),
    ),
  )
  expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true)
  const { plan, subscription } = await get('plan')
  expect(['launch', 'scale', 'hobby']).toContain(plan)
  expect(subscription.status).toBe('active')
})

test("where plans are the operator's, nobody else changes one, and all read theirs", async () => {
  await using own = await startWorld({ hasSelfServicePlans: false, plan: 'hobby' })
  await seedPerson(own, 'owner@example.com', { [own.organisationId]: 'owner' })
  const owner = await signIn(own, 'owner@example.com')
  const path = `/auth/organisations/${own.organisationId}/checkout`
  const refused = [await owner.visit('POST', path, { plan: 'enterprise' })]
  for (const [action, body] of [
    ['change-plan', { plan: 'enterprise' }],
    ['cancel', {}],
    ['resume', {}],
    ['revert-scheduled-change', {}],
  ] as const) {
    refused.push(await own.api('POST', `/v1/billing/${action}`, body))
    const place = `/app/api/${own.projectId}/billing/${action}`
    refused.push(await owner.visit('POST', place, body))
  }
  for (const { status, body } of refused) {
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'FORBIDDEN' })
  }
  expect((await own.api('GET', '/v1/billing/plan')).body).toMatchObject({ plan: 'hobby' })
})
