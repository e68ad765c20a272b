import { createHash, randomBytes, randomInt } from 'node:crypto'

import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { expireWaiting } from '../../core/db/retention/expiry.ts'
import { lastRunMs } from '../../core/db/retention/runs.ts'
import { firstIdAt } from '../../core/ids.ts'
import { cutoffId, lastDueMs } from '../../core/retention/keep.ts'
import { runRetention } from '../../core/retention/run-retention.ts'
import { purgeNightly } from '../../dataplane/housekeeper/tasks/retention.ts'
import {
  seedRoute,
  seedAttempt,
  seedDelivery,
  seedEvent,
  uuid,
  type SeededRoute,
} from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

const HELD_MS = 7 * DAY_MS

type PlanOfTest = 'hobby' | 'launch' | 'scale' | 'enterprise'

const RETENTION_MS: Record<PlanOfTest, number> = {
  hobby: 3 * DAY_MS,
  launch: 7 * DAY_MS,
  scale: 30 * DAY_MS,
  enterprise: 90 * DAY_MS,
}

interface Owner {
  plan: PlanOfTest
  tenant: Tenant
  seeded: SeededRoute
  retentionMs: number
}

let world: World
let owners: Owner[]
beforeAll(async () => {
  world = await startWorld({ plan: 'scale' })
  owners = []
  for (const plan of ['hobby', 'launch', 'scale'] as const) {
    owners.push(await makeOwner(plan, RETENTION_MS[plan]))
  }
  const negotiated = await makeOwner('scale', 5 * DAY_MS)
  await sql`update organisation set overrides = '{"retentionDays": 5}', retention_class = 7
    where id = ${uuid('org', negotiated.tenant.organisationId)}::uuid`.execute(world.db)
  owners.push(negotiated)
  // Like a relay that has run for weeks: daily partitions since then. Older rows are in the DEFAULT partitions.
  await makeDaysSince(21)
})
afterEach(async () => await clear())
afterAll(async () => await world[Symbol.asyncDispose]())

async function makeOwner(plan: PlanOfTest, retentionMs: number): Promise<Owner> {
  const tenant = await world.createTenant(plan)
  return { plan, tenant, seeded: await seedRoute(world, 'shop', tenant.key), retentionMs }
}

function ownerOf(plan: PlanOfTest): Owner {
  const owner = owners.find((one) => one.plan === plan)
  if (owner === undefined) throw new Error(plan)
  return owner
}

interface Seed {
  /** When it is so old; now unless told. */
  asOfMs?: number
  retentionClass?: number
  ageMs: number
  /** How its last delivery stands: waiting ones are parked. */
  status?: string
  claimedBy?: string
  /** When it was replayed, if it was. */
  replayAgeMs?: number
}

interface Seeded {
  id: string
  deliveryIds: string[]
}

/** An event with its key, deliveries and attempts, as the relay would have stored them then. */
async function seed(owner: Owner, { status = 'succeeded', ...of }: Seed): Promise<Seeded> {
  const { organisationId, projectId } = owner.tenant
  const now = of.asOfMs ?? world.clock.now()
  const retentionClass = of.retentionClass ?? classOf(owner.retentionMs)
  const key = createHash('sha256').update(randomBytes(16)).digest()
  const id = await seedEvent(world, {
    ...owner.seeded,
    retentionClass,
    organisationId,
    projectId,
    idempotencyKey: key.toString('hex'),
    atMs: now - of.ageMs,
  })
  await world.db
    .insertInto('dedupe_key')
    .values({ source_id: uuid('src', owner.seeded.sourceId), key, event_id: uuid('evt', id) })
    .execute()
  const ages = [of.ageMs, ...(of.replayAgeMs === undefined ? [] : [of.replayAgeMs])]
  const deliveryIds: string[] = []
  for (const [index, ageMs] of ages.entries()) {
    const isLast = index === ages.length - 1
    const own = isLast ? status : 'failed'
    const isWaiting = own === 'pending' || own === 'throttled' || own === 'in_flight'
    const deliveryId = await seedDelivery(world, {
      ...owner.seeded,
      retentionClass,
      organisationId,
      projectId,
      eventId: id,
      status: own,
      atMs: now - ageMs,
      ...(isWaiting && { nextAt: null }),
      ...(isWaiting && of.claimedBy !== undefined && { claimedBy: of.claimedBy }),
    })
    await seedAttempt(world, { deliveryId, retentionClass, number: 1 })
    deliveryIds.push(deliveryId)
  }
  return { id, deliveryIds }
}

function classOf(retentionMs: number): number {
  return [3, 7, 30, 90].find((days) => days * DAY_MS >= retentionMs) ?? 90
}

async function run(asOfMs = world.clock.now(), signal = new AbortController().signal) {
  const { db, clock } = world
  const report = await runRetention({ db, clock, plans: world.deps.plans, signal }, asOfMs)
  if (report === undefined) throw new Error('Another run is under way')
  return report
}

/** Every row that hangs on events, by table; each row under the id of what it belongs to. */
async function remaining(): Promise<Record<string, string[]>> {
  const queries = {
    event: 'select id from event',
    delivery: 'select d.id from delivery d join event e on e.class = d.class and e.id = d.event_id',
    anyDelivery: 'select id from delivery',
    attempt:
      'select a.delivery_id as id from attempt a join delivery d on d.class = a.class and d.id = a.delivery_id',
    anyAttempt: 'select delivery_id as id from attempt',
    waiting:
      'select w.delivery_id as id from delivery_waiting w join delivery d on d.class = w.class and d.id = w.delivery_id',
    failed:
      'select f.delivery_id as id from delivery_failed f join delivery d on d.class = f.class and d.id = f.delivery_id',
    anyFailed: 'select delivery_id as id from delivery_failed',
    key: 'select event_id as id from dedupe_key',
  }
  const found: Record<string, string[]> = {}
  for (const [name, text] of Object.entries(queries)) {
    const { rows } = await world.pool.query<{ id: string }>(text)
    found[name] = rows.map((row) => row.id).toSorted()
  }
  return found
}

async function clear(): Promise<void> {
  for (const table of [
    'event',
    'delivery',
    'attempt',
    'delivery_waiting',
    'delivery_failed',
    'dedupe_key',
  ]) {
    await world.pool.query(`delete from ${table}`)
  }
}

interface Kept {
  seeded: Seeded
  isKept: boolean
  status: string
}

/** Seeds events of all ages, plans, classes and states, with what must remain of them. */
async function seedAll(count: number, asOfMs: number): Promise<Kept[]> {
  const kept: Kept[] = []
  for (let n = 0; n < count; n++) {
    const owner = owners[n % owners.length] ?? ownerOf('hobby')
    const edges = [owner.retentionMs, owner.retentionMs + HELD_MS]
    // Every third lies within two hours of an edge.
    const edge = edges[randomInt(2)] ?? 0
    const ageMs = n % 3 === 0 ? edge + randomInt(-7_200_000, 7_200_000) : randomInt(45 * DAY_MS)
    const status = ['succeeded', 'failed', 'cancelled', 'pending', 'throttled'][randomInt(5)] ?? ''
    const seeded = await seed(owner, {
      asOfMs,
      retentionClass: [3, 7, 30][randomInt(3)] ?? 3,
      ageMs,
      status,
      ...(randomInt(2) === 0 && { replayAgeMs: randomInt(ageMs + 1) }),
    })
    const isHeld = status === 'pending' || status === 'throttled'
    const isKept = ageMs < owner.retentionMs || (isHeld && ageMs < owner.retentionMs + HELD_MS)
    kept.push({ seeded, isKept, status })
  }
  return kept
}

function expectedOf(all: readonly Kept[]): Record<string, string[]> {
  const staying = all.filter(({ isKept }) => isKept)
  const events = staying.map(({ seeded }) => uuid('evt', seeded.id)).toSorted()
  const deliveries = staying
    .flatMap(({ seeded }) => seeded.deliveryIds.map((id) => uuid('dlv', id)))
    .toSorted()
  const lastOf = (statuses: readonly string[]): string[] =>
    staying
      .filter(({ status }) => statuses.includes(status))
      .map(({ seeded }) => uuid('dlv', seeded.deliveryIds.at(-1) ?? ''))
  const failed = [
    ...lastOf(['failed', 'cancelled']),
    ...staying.flatMap(({ seeded }) =>
      seeded.deliveryIds.slice(0, -1).map((id) => uuid('dlv', id)),
    ),
  ].toSorted()
  return {
    event: events,
    delivery: deliveries,
    anyDelivery: deliveries,
    attempt: deliveries,
    anyAttempt: deliveries,
    waiting: lastOf(['pending', 'throttled']).toSorted(),
    failed,
    anyFailed: failed,
    key: events,
  }
}

test('exactly what is past retention is purged, whatever its age, plan, class and state', async () => {
  const asOfMs = world.clock.now()
  const all = await seedAll(160, asOfMs)
  const report = await run(asOfMs)
  expect(report.daysLeft).toEqual([])
  expect(report.daysDropped.length).toBeGreaterThan(10)
  expect(await remaining()).toEqual(expectedOf(all))
  const { rows } = await world.pool.query(
    `select relname from pg_class where relname ~ '^event_3_2' and relispartition order by 1 limit 1`,
  )
  const oldest = new Date(world.clock.now() - 4 * DAY_MS)
    .toISOString()
    .slice(0, 10)
    .replaceAll('-', '')
  expect(rows[0].relname >= `event_3_${oldest}`).toBe(true)
}, 90_000)

/** As the housekeeper has made them day by day; each call makes the days from the one before to three ahead. */
async function makeDaysSince(daysAgo: number): Promise<void> {
  for (let ago = daysAgo; ago > -4; ago -= 4) {
    await ensurePartitions(world.db, world.clock.now() - Math.max(ago, 0) * DAY_MS)
  }
}

test('a run that is interrupted again and again comes to the same end', async () => {
  await makeDaysSince(21)
  const asOfMs = world.clock.now()
  const all = await seedAll(60, asOfMs)
  let interrupted = 0
  for (let ms = 1; ; ms *= 2) {
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(), ms)
    try {
      await run(asOfMs, stop.signal)
      clearTimeout(timer)
      break
    } catch (error) {
      if (!stop.signal.aborted) throw error
      interrupted++
    }
  }
  expect(interrupted).toBeGreaterThan(2)
  expect(await remaining()).toEqual(expectedOf(all))
}, 90_000)

test('a purged event is 404 with its deliveries; an event past retention that is still there is not replayed', async () => {
  const owner = ownerOf('hobby')
  const { key } = owner.tenant
  const due = await seed(owner, { ageMs: 3 * DAY_MS + 60_000 })
  const young = await seed(owner, { ageMs: 3 * DAY_MS - 60_000 })
  const replay = async (id: string) =>
    await world.api('POST', `/v1/events/${id}/replay`, undefined, { key })
  expect((await replay(due.id)).body).toMatchObject({ code: 'BAD_REQUEST' })
  await run()
  for (const path of [
    `events/${due.id}`,
    `events/${due.id}/timeline`,
    `deliveries/${due.deliveryIds[0]}`,
  ]) {
    const answer = await world.api('GET', `/v1/${path}`, undefined, { key })
    expect(answer.body, path).toMatchObject({ code: 'NOT_FOUND' })
  }
  expect((await replay(due.id)).body).toMatchObject({ code: 'NOT_FOUND' })
  expect((await replay(young.id)).status).toBe(202)
})

test('a delivery that waits holds its event for 7 days more and is then failed with `expired`', async () => {
  const owner = ownerOf('launch')
  const held = await seed(owner, { ageMs: 13 * DAY_MS, status: 'throttled' })
  const late = await seed(owner, { ageMs: 14 * DAY_MS + 60_000, status: 'pending' })
  expect(await run()).toMatchObject({ expired: 1, daysLeft: [] })
  const options = { key: owner.tenant.key }
  expect((await world.api('GET', `/v1/events/${late.id}`, undefined, options)).status).toBe(404)
  const delivery = await world.api(
    'GET',
    `/v1/deliveries/${held.deliveryIds[0]}`,
    undefined,
    options,
  )
  expect(delivery.body).toMatchObject({ status: 'throttled', eventId: held.id })
})

test('waiting deliveries expire step by step, each project by its own term', async () => {
  const [hobby, launch] = [ownerOf('hobby'), ownerOf('launch')]
  const atDay = async (owner: Owner, days: number): Promise<string> => {
    const seeded = await seed(owner, { ageMs: days * DAY_MS, status: 'throttled' })
    return `${seeded.deliveryIds[0]}`
  }
  const kept = [await atDay(launch, 13), await atDay(hobby, 9)]
  await atDay(hobby, 12)
  await atDay(hobby, 11)
  await atDay(launch, 15)
  const nowMs = world.clock.now()
  const of = {
    untilIds: new Map([
      [uuid('prj', hobby.tenant.projectId), cutoffId(nowMs, 10)],
      [uuid('prj', launch.tenant.projectId), cutoffId(nowMs, 14)],
    ]),
    watermark: firstIdAt(nowMs),
    now: new Date(nowMs),
  }
  const steps: number[] = []
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const { expired, lastId } = await expireWaiting(world.db, { ...of, afterId }, 2)
    steps.push(expired)
    afterId = lastId
  }
  // By age in days: 15 and 13, 12 and 11, 9.
  expect(steps).toEqual([1, 2, 0])
  const { rows } = await world.pool.query('select delivery_id from delivery_waiting order by 1')
  expect(rows.map((row) => row.delivery_id)).toEqual(kept.map((id) => uuid('dlv', id)).toSorted())
})

test('past the longest class too, an event is held while its delivery waits', async () => {
  const owner = await makeOwner('enterprise', RETENTION_MS.enterprise)
  await ensurePartitions(world.db, world.clock.now() - 93 * DAY_MS)
  const held = await seed(owner, { ageMs: 93 * DAY_MS, status: 'pending' })
  const gone = await seed(owner, { ageMs: 93 * DAY_MS, status: 'failed' })
  const report = await run()
  expect(report).toMatchObject({ moved: 1, daysLeft: [] })
  const read = async (id: string) =>
    (await world.api('GET', `/v1/events/${id}`, undefined, { key: owner.tenant.key })).status
  expect([await read(held.id), await read(gone.id)]).toEqual([200, 404])
  world.clock.advance(5 * DAY_MS)
  await run()
  expect(await read(held.id)).toBe(404)
  world.clock.advance(-5 * DAY_MS)
}, 90_000)

test('an event with a delivery in flight is not moved: its day waits', async () => {
  await makeDaysSince(13)
  const owner = ownerOf('hobby')
  const { id } = await seed(owner, { ageMs: 5 * DAY_MS, status: 'in_flight', claimedBy: 'worker' })
  const left = await run()
  expect(left).toMatchObject({ moved: 0 })
  expect(left.daysLeft).not.toEqual([])
  await world.pool.query('update delivery_waiting set claimed_by = null')
  expect(await run()).toMatchObject({ moved: 1, daysLeft: [] })
  const answer = await world.api('GET', `/v1/events/${id}`, undefined, { key: owner.tenant.key })
  expect(answer.status).toBe(200)
})

test('when a plan grows, what is still there stays for the longer time', async () => {
  const owner = await makeOwner('hobby', RETENTION_MS.hobby)
  await makeDaysSince(13)
  const { id } = await seed(owner, { ageMs: 5 * DAY_MS, replayAgeMs: 4 * DAY_MS })
  await sql`update organisation set plan = 'launch', retention_class = 7
    where id = ${uuid('org', owner.tenant.organisationId)}::uuid`.execute(world.db)
  expect(await run()).toMatchObject({ moved: 1, daysLeft: [] })
  const options = { key: owner.tenant.key }
  const answer = await world.api('GET', `/v1/events/${id}`, undefined, options)
  expect(answer.body.deliveries).toHaveLength(2)
  const { rows } = await world.pool.query('select distinct class from attempt')
  expect(rows).toEqual([{ class: 7 }])
  world.clock.advance(2 * DAY_MS + 60_000)
  await run()
  expect((await world.api('GET', `/v1/events/${id}`, undefined, options)).status).toBe(404)
  world.clock.advance(-2 * DAY_MS - 60_000)
})

test('ingest is never blocked for more than a moment while a day cannot be locked', async () => {
  await makeDaysSince(13)
  const owner = ownerOf('hobby')
  await seed(owner, { ageMs: 5 * DAY_MS })
  const reader = new pg.Client({ connectionString: world.databaseUrl })
  await reader.connect()
  await reader.query('begin')
  await reader.query('select from event_3 limit 1')
  const ended = new AbortController()
  const running = run().finally(() => ended.abort())
  let longestMs = 0
  while (!ended.signal.aborted) {
    const beganAt = performance.now()
    await seedEvent(world, { ...owner.seeded, retentionClass: 3 })
    longestMs = Math.max(longestMs, performance.now() - beganAt)
  }
  expect((await running).daysLeft).not.toEqual([])
  expect(longestMs).toBeLessThan(1_000)
  await reader.query('commit')
  await reader.end()
  expect((await run()).daysLeft).toEqual([])
})

test('two runs at once: one does it, the other leaves it', async () => {
  const { db, clock } = world
  const deps = { db, clock, plans: world.deps.plans, signal: new AbortController().signal }
  const reports = await Promise.all([
    runRetention(deps, clock.now()),
    runRetention(deps, clock.now()),
  ])
  expect(reports.filter((report) => report === undefined)).toHaveLength(1)
})

test('the nightly run happens once a day, a missed one soon, as of the time when it was due', async () => {
  await world.pool.query('delete from retention_run')
  const owner = ownerOf('hobby')
  const dueMs = lastDueMs(world.clock.now())
  const sinceMs = world.clock.now() - dueMs
  const old = await seed(owner, { ageMs: 3 * DAY_MS + sinceMs + 60_000 })
  const tomorrows = await seed(owner, { ageMs: 3 * DAY_MS + sinceMs - 60_000 })
  const { db, clock, deps } = world
  const nightly = async () =>
    await purgeNightly({ ...deps, db, clock, signal: new AbortController().signal })
  await nightly()
  expect(await lastRunMs(world.db)).toBe(dueMs)
  const read = async (id: string) =>
    (await world.api('GET', `/v1/events/${id}`, undefined, { key: owner.tenant.key })).status
  expect([await read(old.id), await read(tomorrows.id)]).toEqual([404, 200])
  const again = await seed(owner, { ageMs: 4 * DAY_MS })
  await nightly()
  expect(await read(again.id)).toBe(200)
  world.clock.advance(DAY_MS)
  await nightly()
  expect([await read(again.id), await read(tomorrows.id)]).toEqual([404, 404])
  world.clock.advance(-DAY_MS)
})

test('audit rows of purged events follow them; those of the configuration stay', async () => {
  const owner = ownerOf('hobby')
  const { id } = await seed(owner, { ageMs: DAY_MS })
  await world.api('POST', `/v1/events/${id}/replay`, undefined, { key: owner.tenant.key })
  await world.pool.query('update delivery_waiting set claimed_by = null')
  await world.pool.query(`update delivery set status = 'succeeded'`)
  const kinds = async (): Promise<string[]> => {
    const { rows } = await world.pool.query(
      'select distinct subject_kind as kind from audit where organisation_id = $1 order by 1',
      [uuid('org', owner.tenant.organisationId)],
    )
    return rows.map((row) => row.kind)
  }
  expect(await kinds()).toContain('event')
  world.clock.advance(4 * DAY_MS)
  await run()
  world.clock.advance(-4 * DAY_MS)
  expect(await kinds()).not.toContain('event')
  expect(await kinds()).toContain('source')
})
