import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { DAY_MS, MINUTE_MS } from '../../core/clock.ts'
import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import {
  readDeliveryCounts,
  readEventCounts,
  type DashboardFilter,
} from '../../core/db/statistics/dashboard.ts'
import { foldDeliveries, foldEvents } from '../../core/db/statistics/folds.ts'
import { rollUpDeliveries, rollUpEvents } from '../../core/db/statistics/rollups.ts'
import { newId } from '../../core/ids.ts'
import { bucketsOver, GRANULARITIES } from '../../core/statistics/granularity.ts'
import { Histogram } from '../../core/statistics/histogram.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

/** Three minutes before a day ends: minutes, hours and days change within ten. */
const START_MS = Date.UTC(2026, 10, 20, 23, 57)
const MINUTES = 10
const END = new Date(START_MS + DAY_MS)
const TEST_MS = 120_000

/** Whose counts are: the second project has two of each, the first one. */
interface Owner {
  projectId: string
  sourceId: string
  destinationId: string
  connectionId: string
}

let world: World
let owners: [only: Owner, one: Owner, other: Owner]
beforeAll(async () => {
  world = await startWorld()
  const tenant = await world.createTenant()
  owners = [await ownerOf(await world.createTenant()), await ownerOf(tenant), await ownerOf(tenant)]
}, TEST_MS)
afterAll(async () => await world[Symbol.asyncDispose]())

async function ownerOf({ projectId, key }: Tenant): Promise<Owner> {
  const route = await seedRoute(world, newId(Date.now()), key)
  return {
    projectId: uuid('prj', projectId),
    sourceId: uuid('src', route.sourceId),
    destinationId: uuid('dst', route.destinationId),
    connectionId: uuid('con', route.connectionId),
  }
}

/** A housekeeper with a connection of its own. */
async function openHousekeeper(): Promise<{ db: Db; pid: number } & AsyncDisposable> {
  const db = openDb(openPool({ url: world.databaseUrl, max: 1, log: world.deps.log }))
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return { db, pid: rows[0]?.pid ?? 0, [Symbol.asyncDispose]: () => db.destroy() }
}

interface Counted {
  owner: 0 | 1 | 2
  minute: number
  events: number
  succeeded: number
  retried: number
  buckets: number[]
}

const counted = fc.record<Counted>({
  owner: fc.constantFrom(0, 1, 2),
  minute: fc.nat(MINUTES - 1),
  events: fc.integer({ min: 1, max: 5 }),
  succeeded: fc.nat(4),
  retried: fc.nat(2),
  buckets: fc.array(fc.nat(160), { maxLength: 4 }),
})

interface Step {
  kind: 'count' | 'fold' | 'rollUp'
  rows: Counted[]
  /** Before which minutes are rolled up. */
  minute: number
  isKilled: boolean
}

const step = fc.record<Step>({
  kind: fc.constantFrom('count', 'fold', 'rollUp'),
  rows: fc.array(counted, { minLength: 1 }),
  minute: fc.nat(MINUTES),
  isKilled: fc.boolean(),
})

const timeOf = (minute: number): Date => new Date(START_MS + minute * MINUTE_MS + 31_000)

async function count(rows: readonly Counted[]): Promise<void> {
  for (const { owner, minute, events, buckets, succeeded, retried } of rows) {
    const { projectId, sourceId, destinationId, connectionId } = owners[owner]
    const common = { at: timeOf(minute), project_id: projectId, source_id: sourceId }
    const event = { ...common, status: 'received', rejection_reason: null, events }
    await world.db.insertInto('event_delta').values(event).execute()
    await world.db
      .insertInto('delivery_delta')
      .values({
        ...common,
        destination_id: destinationId,
        connection_id: connectionId,
        succeeded,
        failed: 0,
        throttled: 1,
        attempts: buckets.length,
        retried,
        latencies: buckets,
      })
      .execute()
  }
}

/** Both kinds at once, by a housekeeper that may be killed at any time. */
async function act(of: Omit<Step, 'rows'>): Promise<void> {
  await using housekeeper = await openHousekeeper()
  const { db, pid } = housekeeper
  const before = of.kind === 'rollUp' ? timeOf(of.minute) : END
  const work =
    of.kind === 'fold'
      ? [() => foldEvents(db), () => foldDeliveries(db)]
      : [() => rollUpEvents(db, before), () => rollUpDeliveries(db, before)]
  const run = async (): Promise<void> => {
    for (const statement of work) await statement()
  }
  if (!of.isKilled) return await run()
  await Promise.allSettled([run(), world.pool.query('select pg_terminate_backend($1)', [pid])])
}

interface Sum {
  events: number
  succeeded: number
  throttled: number
  attempts: number
  retried: number
  p50: number | null
  p99: number | null
}

/** Counts by bucket, of all or of an owner. */
type Sums = Record<string, Sum>

function truthOf(rows: readonly Counted[], widthMs: number): Sums {
  const byBucket = Map.groupBy(rows, ({ minute }) =>
    new Date(Math.floor(timeOf(minute).getTime() / widthMs) * widthMs).toISOString(),
  )
  return Object.fromEntries(
    [...byBucket].map(([start, all]) => {
      const histogram = new Histogram()
      for (const bucket of all.flatMap(({ buckets }) => buckets)) histogram.add(bucket, 1)
      const sum = (of: (row: Counted) => number): number =>
        all.reduce((total, row) => total + of(row), 0)
      return [
        start,
        {
          events: sum(({ events }) => events),
          succeeded: sum(({ succeeded }) => succeeded),
          throttled: all.length,
          attempts: sum(({ buckets }) => buckets.length),
          retried: sum(({ retried }) => retried),
          p50: histogram.percentile(0.5),
          p99: histogram.percentile(0.99),
        },
      ]
    }),
  )
}

async function shown(
  filter: Partial<DashboardFilter> & Pick<DashboardFilter, 'projectId' | 'buckets'>,
) {
  const whole = {
    sourceId: undefined,
    destinationId: undefined,
    connectionId: undefined,
    groupBy: undefined,
    limit: 1_000,
    ...filter,
  }
  const sums = new Map<number, Omit<Sum, 'p50' | 'p99'> & { histogram: Histogram }>()
  const at = (ms: number) => {
    const none = { events: 0, succeeded: 0, throttled: 0, attempts: 0, retried: 0 }
    const sum = sums.get(ms) ?? { ...none, histogram: new Histogram() }
    sums.set(ms, sum)
    return sum
  }
  for (const row of await readEventCounts(world.db, whole)) at(row.startMs).events += row.received
  for (const row of await readDeliveryCounts(world.db, whole)) {
    const sum = at(row.startMs)
    for (const name of ['succeeded', 'throttled', 'attempts', 'retried'] as const) {
      sum[name] += row[name]
    }
    sum.histogram.addListed(row)
  }
  return Object.fromEntries(
    [...sums].map(([ms, { histogram, ...rest }]) => [
      new Date(ms).toISOString(),
      { ...rest, p50: histogram.percentile(0.5), p99: histogram.percentile(0.99) },
    ]),
  )
}

const WIDTH_MS = { minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: DAY_MS }

async function expectTruth(rows: readonly Counted[]): Promise<void> {
  for (const granularity of GRANULARITIES) {
    const buckets = bucketsOver(granularity, START_MS, END.getTime())
    const truth = (of: (owner: number) => boolean) =>
      truthOf(
        rows.filter(({ owner }) => of(owner)),
        WIDTH_MS[granularity],
      )
    const [only, one, other] = owners
    const two = { projectId: one.projectId, buckets }
    expect(await shown({ projectId: only.projectId, buckets })).toEqual(truth((of) => of === 0))
    expect(await shown({ projectId: only.projectId, buckets, sourceId: only.sourceId })).toEqual(
      truth((of) => of === 0),
    )
    expect(await shown(two)).toEqual(truth((of) => of > 0))
    expect(await shown({ ...two, sourceId: one.sourceId })).toEqual(truth((of) => of === 1))
    expect(await shown({ ...two, sourceId: other.sourceId })).toEqual(truth((of) => of === 2))
  }
}

/** Rows of roll-ups by granularity, of each project. */
async function rollupRows(projectId: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ granularity: string; rows: number }>`
    select granularity, count(*)::int as rows from delivery_rollup where project_id = ${projectId}
    group by 1 order by 1`.execute(world.db)
  return Object.fromEntries(rows.map((row) => [row.granularity, row.rows]))
}

const EMPTY = sql`truncate event_delta, delivery_delta, event_minute, delivery_minute, event_rollup, delivery_rollup`

test(
  'counts are exact whatever two housekeepers fold and roll up at once, and wherever one is killed',
  { timeout: TEST_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
        await EMPTY.execute(world.db)
        const rows: Counted[] = []
        for (let n = 0; n < steps.length; n += 3) {
          const atOnce = steps.slice(n, n + 3)
          await Promise.all(
            atOnce.map(async (one) => {
              if (one.kind !== 'count') return await act(one)
              rows.push(...one.rows)
              return await count(one.rows)
            }),
          )
          await expectTruth(rows)
        }
        await act({ kind: 'fold', minute: MINUTES, isKilled: false })
        await act({ kind: 'rollUp', minute: MINUTES, isKilled: false })
        await expectTruth(rows)
        const { rows: left } = await sql<{ left: number }>`
          select (select count(*) from delivery_delta) + (select count(*) from delivery_minute)
            + (select count(*) from event_delta) + (select count(*) from event_minute) as left`.execute(
          world.db,
        )
        expect(left).toEqual([{ left: 0 }])
      }),
      { numRuns: 6 },
    )
  },
)

test.for(['fold', 'rollUp'] as const)(
  'a %s that is killed half-way changes nothing',
  async (kind) => {
    await EMPTY.execute(world.db)
    const row: Counted = {
      owner: 0,
      minute: 1,
      events: 2,
      succeeded: 1,
      retried: 0,
      buckets: [7, 7, 9],
    }
    const rows: Counted[] = []
    const countOne = async (): Promise<void> => {
      rows.push(row)
      await count([row])
      if (kind === 'rollUp') await foldDeliveries(world.db)
    }
    const run = (db: Db): Promise<number> =>
      kind === 'fold' ? foldDeliveries(db) : rollUpDeliveries(db, END)
    await countOne()
    await run(world.db)
    await countOne()
    const table = kind === 'fold' ? 'delivery_minute' : 'delivery_rollup'
    await using housekeeper = await openHousekeeper()
    await world.db.transaction().execute(async (tx) => {
      await sql`select from ${sql.table(table)} for update`.execute(tx)
      const [killed] = await Promise.allSettled([
        run(housekeeper.db),
        untilBlocked(world.pool, 1).then(() =>
          world.pool.query('select pg_terminate_backend($1)', [housekeeper.pid]),
        ),
      ])
      expect(killed.status).toBe('rejected')
    })
    await expectTruth(rows)
    expect(await run(world.db)).toBe(1)
    await expectTruth(rows)
  },
)

test('a project with a single connection has one row for each span of time, another one more', async () => {
  await EMPTY.execute(world.db)
  const row = { events: 1, succeeded: 1, retried: 0, buckets: [7] }
  await count(
    ([0, 1, 2] as const).flatMap((owner) => [4, 5].map((minute) => ({ ...row, owner, minute }))),
  )
  await act({ kind: 'fold', minute: MINUTES, isKilled: false })
  await act({ kind: 'rollUp', minute: MINUTES, isKilled: false })
  const [only, one] = owners
  expect(await rollupRows(only.projectId)).toEqual({
    'minute of all': 2,
    'hour of all': 1,
    'day of all': 1,
  })
  expect(await rollupRows(one.projectId)).toEqual({
    minute: 4,
    hour: 2,
    day: 2,
    'minute of all': 2,
    'hour of all': 1,
    'day of all': 1,
  })
})

test('a list of latencies is merged before it grows long', async () => {
  await EMPTY.execute(world.db)
  const buckets = Array.from({ length: 40 }, (_, n) => n)
  const rows: Counted[] = []
  for (let n = 0; n < 30; n++) {
    const row: Counted = { owner: 0, minute: 0, events: 1, succeeded: 1, retried: 0, buckets }
    rows.push(row)
    await count([row])
    await foldDeliveries(world.db)
  }
  const { rows: found } = await sql<{ characters: number }>`
    select length(latency_buckets) as characters from delivery_minute`.execute(world.db)
  expect(found[0]?.characters).toBeLessThan(1_500)
  await expectTruth(rows)
})
