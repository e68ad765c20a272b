import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { noteBacklogs, readBacklog } from '../../core/db/statistics/backlog.ts'
import { firstIdAt, newId } from '../../core/ids.ts'
import { bucketsOver } from '../../core/statistics/granularity.ts'
import { says } from '../kit/endpoint.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { seedRoute, seedDelivery, uuid, type SeededRoute } from '../kit/seed.ts'
import type { Tenant } from '../kit/world.ts'

/** More than are counted when somebody asks. */
const MANY = 6_000

const NOTHING = { pending: 0, throttled: 0, oldestPendingAgeSeconds: null }

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ worker: false })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

test('nothing waits in a new project', async () => {
  const tenant = await relay.createTenant()
  expect(await waiting(tenant)).toEqual(NOTHING)
})

test('deliveries that no worker has begun are pending, until they are sent', async () => {
  const tenant = await relay.createTenant()
  const { source } = await relay.route({ key: tenant.key, respond: says(200) })
  for (let sent = 0; sent < 3; sent++) await relay.accept(source)
  const found = await eventually(async () => {
    const counts = await waiting(tenant)
    expect(counts).toMatchObject({ pending: 3, throttled: 0 })
    return counts
  })
  expect(found.oldestPendingAgeSeconds).toBeGreaterThanOrEqual(1)
  expect(found.oldestPendingAgeSeconds).toBeLessThan(10)
  await relay.startWorker()
  await eventually(async () => expect(await waiting(tenant)).toEqual(NOTHING))
  await relay.stopWorker()
})

test('pending and throttled are told apart, and what is in flight is neither', async () => {
  const tenant = await relay.createTenant()
  const own = await seedRoute(relay, 'apart', tenant.key)
  const nextAt = new Date(relay.clock.now() + 3_600_000)
  const hourAgoMs = relay.clock.now() - 3_600_000
  const seed = { ...own, ...tenant, eventId: null, nextAt }
  await seedDelivery(relay, { ...seed, status: 'pending', atMs: hourAgoMs })
  await seedDelivery(relay, { ...seed, status: 'pending' })
  await seedDelivery(relay, { ...seed, status: 'throttled', atMs: hourAgoMs - 3_600_000 })
  await seedDelivery(relay, { ...seed, status: 'in_flight', claimedBy: 'worker' })
  await seedDelivery(relay, { ...seed, status: 'failed' })
  const { oldestPendingAgeSeconds, ...counts } = await waiting(tenant)
  expect(counts).toEqual({ pending: 2, throttled: 1 })
  expect(oldestPendingAgeSeconds).toBeGreaterThanOrEqual(3_600)
  expect(oldestPendingAgeSeconds).toBeLessThan(3_610)
  expect(await waiting(relay)).toEqual(NOTHING)
})

test('a long backlog is counted by the housekeeper, whatever it had counted before', async () => {
  const tenant = await relay.createTenant()
  const own = await seedRoute(relay, 'backlog', tenant.key)
  const projectId = uuid('prj', tenant.projectId)
  await seedBacklog(tenant, own)
  await expectBacklog(tenant)
  await sql`update waiting_count set pending = 9, throttled = 9000000 where project_id = ${projectId}`.execute(
    relay.db,
  )
  await expectBacklog(tenant)
  await sql`delete from delivery_waiting where project_id = ${projectId}`.execute(relay.db)
  expect(await waiting(tenant)).toEqual(NOTHING)
  await eventually(async () => {
    const { rows } = await sql`
      select from waiting_count where project_id = ${projectId}`.execute(relay.db)
    expect(rows).toHaveLength(0)
  })
})

test('a backlog is seen afterwards, by the minute, the hour and the day, in its project alone', async () => {
  const tenant = await relay.createTenant()
  const own = await seedRoute(relay, 'history', tenant.key)
  const seed = { ...own, ...tenant, eventId: null, nextAt: new Date(relay.clock.now() + 3_600_000) }
  await seedDelivery(relay, { ...seed, status: 'pending', atMs: relay.clock.now() - 3_600_000 })
  await seedDelivery(relay, { ...seed, status: 'throttled' })
  const history = async (granularity: string, key = tenant.key): Promise<Resource[]> =>
    (await relay.get(`/v1/stats/backlog?granularity=${granularity}`, key)).data
  const seen = async (granularity: string): Promise<Resource[]> =>
    (await history(granularity)).filter(({ waiting: most }) => most > 0)
  await eventually(async () => expect(await seen('minute')).toHaveLength(1), 30_000)
  await sql`delete from delivery_waiting where project_id = ${uuid('prj', tenant.projectId)}`.execute(
    relay.db,
  )
  expect(await waiting(tenant)).toEqual(NOTHING)
  for (const granularity of ['minute', 'hour', 'day']) {
    const [bucket] = await seen(granularity)
    expect(bucket, granularity).toMatchObject({ waiting: 2 })
    expect(bucket.oldestPendingAgeSeconds).toBeGreaterThanOrEqual(3_600)
    expect(bucket.oldestPendingAgeSeconds).toBeLessThan(3_700)
  }
  const other = await relay.createTenant()
  expect((await history('hour', other.key)).every(({ waiting: most }) => most === 0)).toBe(true)
})

test('a smaller backlog does not hide a larger one of the same minute', async () => {
  const projectId = newId(relay.clock.now())
  const nowMs = Date.parse('2026-11-01T10:30:15Z')
  for (const [waits, oldestMs] of [
    [7, 1_000],
    [9, 500],
    [3, 60_000],
  ] as const) {
    await noteBacklogs(relay.db, [{ projectId, waiting: waits, oldestMs }], nowMs)
  }
  const buckets = bucketsOver('minute', nowMs, nowMs + 1)
  expect(await readBacklog(relay.db, projectId, buckets)).toEqual(
    new Map([[buckets.fromMs, { waiting: 9, oldestMs: 60_000 }]]),
  )
})

async function expectBacklog(tenant: Tenant): Promise<void> {
  await eventually(async () => {
    expect(await waiting(tenant)).toMatchObject({ pending: MANY, throttled: MANY })
  })
}

async function seedBacklog(tenant: Tenant, { destinationId }: SeededRoute): Promise<void> {
  const prefix = firstIdAt(relay.clock.now()).slice(0, 18)
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger)
    select (${prefix}::text || '-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 90,
      ${uuid('org', tenant.organisationId)}::uuid, ${uuid('prj', tenant.projectId)}::uuid,
      ${uuid('dst', destinationId)}::uuid, 0, case when n % 2 = 0 then 'pending' else 'throttled' end, 'initial'
    from generate_series(1, ${2 * MANY}::int) as n`.execute(relay.db)
}

async function waiting(tenant: Tenant): Promise<Resource> {
  return await relay.get('/v1/deliveries/stats', tenant.key)
}
