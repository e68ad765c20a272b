import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { ensureDay } from '../../core/db/connection/day-partitions.ts'
import type { Delivery } from '../../core/db/deliveries/read/deliveries.ts'
import type { DeliveryFilter } from '../../core/db/deliveries/read/delivery-indexes.ts'
import { listDeliveries, type DeliveryPage } from '../../core/db/deliveries/read/delivery-lists.ts'
import { listEvents, type EventFilter, type EventSummary } from '../../core/db/events/events.ts'
import { cut } from '../../core/db/lists/indexed-lists.ts'
import { NO_FILTER } from '../kit/no-filter.ts'
import { seedRoute, seedDelivery, seedEvent, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

/** Rows that a statement reads: so few that every filter without an index is cut short again and again. */
const READ_ROWS = 3

let world: World
let other: Tenant
let shops: SeededRoute[]
let foreign: SeededRoute
let deliveries: Seeded[]
let events: { id: string; sourceId: string; status: string }[]

/** A stored delivery; ids are uuids. */
interface Seeded {
  id: string
  eventId: string
  connectionId: string
  destinationId: string
  sourceId: string
  status: string
  errorCode: string | null
  responseStatus: number | null
  nextAtMs: number | null
}

const OUTCOMES = [
  { status: 'succeeded', lastResponseStatus: 200 },
  { status: 'succeeded', lastResponseStatus: 204 },
  { status: 'succeeded', lastResponseStatus: 200 },
  { status: 'failed', lastErrorCode: 'bad_response', lastResponseStatus: 500 },
  { status: 'failed', lastErrorCode: 'timeout' },
  { status: 'cancelled', lastErrorCode: 'bad_response', lastResponseStatus: 503 },
  { status: 'cancelled' },
  { status: 'pending', lastErrorCode: 'timeout', dueInMs: 60_000 },
  { status: 'pending', lastErrorCode: 'bad_response', lastResponseStatus: 404, dueInMs: 1_000 },
  { status: 'pending', dueInMs: null },
  { status: 'throttled', dueInMs: null },
  { status: 'throttled', lastErrorCode: 'bad_response', lastResponseStatus: 502, dueInMs: 30_000 },
  { status: 'in_flight', dueInMs: 5_000, claimedBy: 'worker' },
] as const

/** In the order of their times: some past the longest class, some of today, and some first attempts under way. */
const AGES_DAYS = [95, 89, 40, 30, 12, 8, 3, 1.5, 0.2, 0.01]

beforeAll(async () => {
  world = await startWorld()
  other = await world.createTenant()
  shops = [await seedRoute(world, 'one'), await seedRoute(world, 'two')]
  foreign = await seedRoute(world, 'foreign', other.key)
  deliveries = []
  events = []
  for (const [age, days] of AGES_DAYS.entries()) {
    // A single day has its partition, the others are in the DEFAULT ones.
    if (days === 12) await ensureDay(world.db, 90, world.clock.now() - days * DAY_MS)
    for (const [n, outcome] of OUTCOMES.entries()) {
      const retentionClass = [90, 30, 7][(age + n) % 3] ?? 90
      await seedOne(outcome, {
        retentionClass,
        atMs: world.clock.now() - days * DAY_MS + n * 1_000,
        n,
      })
    }
  }
  for (const shop of shops) await seedFresh(shop)
  await seedEvent(world, { ...foreign, projectId: other.projectId })
}, 60_000)
afterAll(async () => await world[Symbol.asyncDispose]())

async function seedOne(
  { ...outcome }: (typeof OUTCOMES)[number],
  { retentionClass, atMs, n }: { retentionClass: number; atMs: number; n: number },
): Promise<void> {
  const shop = shops[n % 3 === 0 ? 1 : 0]
  if (shop === undefined) throw new Error('No shop')
  const status = ['received', 'received', 'rejected'][n % 3] ?? 'received'
  const eventId = await seedEvent(world, { ...shop, retentionClass, atMs, status })
  events.push({ id: uuid('evt', eventId), sourceId: uuid('src', shop.sourceId), status })
  const { dueInMs, ...rest } = { dueInMs: undefined, ...outcome }
  const nextAtMs = dueInMs == null ? null : world.clock.now() + dueInMs + n
  const id = await seedDelivery(world, {
    ...shop,
    ...rest,
    eventId,
    retentionClass,
    atMs,
    ...(dueInMs !== undefined && { nextAt: nextAtMs === null ? null : new Date(nextAtMs) }),
  })
  noteDelivery(
    shop,
    { id, eventId },
    { ...outcome, nextAtMs: 'claimedBy' in outcome ? null : nextAtMs },
  )
}

/** Made now and dispatched: no other table knows of it. */
async function seedFresh(shop: SeededRoute): Promise<void> {
  const eventId = await seedEvent(world, shop)
  events.push({
    id: uuid('evt', eventId),
    sourceId: uuid('src', shop.sourceId),
    status: 'received',
  })
  const leaseUntil = new Date(world.clock.now() + 15_000)
  const id = await seedDelivery(world, { ...shop, eventId, status: 'pending', leaseUntil })
  noteDelivery(shop, { id, eventId }, { status: 'pending', nextAtMs: null })
}

function noteDelivery(
  shop: SeededRoute,
  { id, eventId }: { id: string; eventId: string },
  of: {
    status: string
    lastErrorCode?: string
    lastResponseStatus?: number
    nextAtMs: number | null
  },
): void {
  deliveries.push({
    id: uuid('dlv', id),
    eventId: uuid('evt', eventId),
    connectionId: uuid('con', shop.connectionId),
    destinationId: uuid('dst', shop.destinationId),
    sourceId: uuid('src', shop.sourceId),
    status: of.status,
    errorCode: of.lastErrorCode ?? null,
    responseStatus: of.lastResponseStatus ?? null,
    nextAtMs: of.nextAtMs,
  })
}

/** Follows the cursor to the end, page by page. */
async function walk(
  filter: Partial<DeliveryFilter>,
  { limit, ...order }: Pick<DeliveryPage, 'sortBy' | 'sortDir' | 'limit'>,
): Promise<string[]> {
  const whole = { ...NO_FILTER, projectId: uuid('prj', world.projectId), ...filter }
  const found: Delivery[] = []
  let after: DeliveryPage['after']
  for (let pages = 0; pages < 2_000; pages++) {
    const nowMs = world.clock.now()
    const page = { ...order, limit, after, nowMs, readRows: READ_ROWS }
    const { rows, next } = await listDeliveries(world.deps.lists, whole, page)
    expect(rows.length).toBeLessThanOrEqual(limit)
    found.push(...rows)
    if (next === undefined) return found.map(({ id }) => id)
    after = next
  }
  throw new Error('The list does not end')
}

/** The same, of what was seeded. */
function expected(filter: Partial<DeliveryFilter>, sortDir: 'asc' | 'desc'): Seeded[] {
  const { responseClass, fromId = '', untilId = 'g', ...equals } = filter
  const rows = deliveries.filter((row) => {
    const values: Record<string, unknown> = { ...row }
    return (
      Object.entries(equals).every(([key, value]) => values[key] === value) &&
      (responseClass === undefined ||
        Math.floor((row.responseStatus ?? 0) / 100) === responseClass) &&
      row.id >= fromId &&
      row.id < untilId
    )
  })
  const sorted = rows.toSorted((one, two) => (one.id < two.id ? -1 : 1))
  return sortDir === 'asc' ? sorted : sorted.toReversed()
}

function combinations(): Partial<DeliveryFilter>[] {
  const [shop] = shops
  const [, , some] = deliveries
  if (shop === undefined || some === undefined) throw new Error('Nothing was seeded')
  const parents: Partial<DeliveryFilter>[] = [
    {},
    { connectionId: uuid('con', shop.connectionId) },
    { destinationId: uuid('dst', shop.destinationId) },
    { sourceId: uuid('src', shop.sourceId), destinationId: uuid('dst', shop.destinationId) },
    { eventId: some.eventId },
  ]
  const outcomes: Partial<DeliveryFilter>[] = [
    {},
    ...['pending', 'throttled', 'in_flight', 'succeeded', 'failed', 'cancelled'].map((status) => ({
      status,
    })),
    { errorCode: 'bad_response' },
    { responseStatus: 204 },
    { responseClass: 5 },
    { errorCode: 'bad_response', responseClass: 5, status: 'cancelled' },
    { errorCode: 'timeout', status: 'pending' },
    { errorCode: 'dns_error' },
  ]
  const middle = deliveries[Math.floor(deliveries.length / 2)]?.id
  const bounds = [{}, { fromId: middle }, { untilId: middle }]
  return parents.flatMap((parent) =>
    outcomes.flatMap((outcome) => bounds.map((bound) => ({ ...parent, ...outcome, ...bound }))),
  )
}

test('every combination of filters meets each delivery once in both orders, however short its pages', async () => {
  for (const filter of combinations()) {
    for (const sortDir of ['asc', 'desc'] as const) {
      const ids = expected(filter, sortDir).map(({ id }) => id)
      const order = { sortBy: 'createdAt', sortDir } as const
      expect(await walk(filter, { ...order, limit: 7 }), JSON.stringify(filter)).toEqual(ids)
    }
  }
}, 240_000)

test('by next attempt, what has a time comes first, then the others by their ids', async () => {
  for (const filter of combinations()) {
    if (filter.status !== 'pending' && filter.status !== 'throttled') continue
    for (const sortDir of ['asc', 'desc'] as const) {
      const rows = expected(filter, sortDir)
      const sign = sortDir === 'asc' ? 1 : -1
      const timed = rows
        .filter(({ nextAtMs }) => nextAtMs !== null)
        .toSorted(
          (one, two) =>
            sign * ((one.nextAtMs ?? 0) - (two.nextAtMs ?? 0) || (one.id < two.id ? -1 : 1)),
        )
      const ids = [...timed, ...rows.filter(({ nextAtMs }) => nextAtMs === null)].map(
        ({ id }) => id,
      )
      const order = { sortBy: 'nextAttemptAt', sortDir } as const
      expect(await walk(filter, { ...order, limit: 2 }), JSON.stringify(filter)).toEqual(ids)
    }
  }
}, 120_000)

test('a page is full where its filter has an index', async () => {
  const [shop] = shops
  const destinationId = uuid('dst', shop?.destinationId ?? '')
  for (const filter of [{}, { destinationId }, { status: 'failed' }, { responseClass: 5 }]) {
    const { rows } = await listDeliveries(
      world.deps.lists,
      { ...NO_FILTER, projectId: uuid('prj', world.projectId), ...filter },
      {
        sortBy: 'createdAt',
        sortDir: 'desc',
        limit: 10,
        after: undefined,
        nowMs: world.clock.now(),
        readRows: READ_ROWS,
      },
    )
    expect(rows, JSON.stringify(filter)).toHaveLength(10)
  }
})

test("another project's source, destination and connection have nothing", async () => {
  await seedDelivery(world, { ...foreign, projectId: other.projectId, eventId: null })
  const { sourceId, destinationId, connectionId } = foreign
  for (const filter of [
    { sourceId: uuid('src', sourceId) },
    { destinationId: uuid('dst', destinationId), status: 'succeeded' },
    { connectionId: uuid('con', connectionId) },
  ]) {
    expect(await walk(filter, { sortBy: 'createdAt', sortDir: 'desc', limit: 7 })).toEqual([])
  }
  // Deleted, it is nobody's: its deliveries are still of their project alone.
  await sql`delete from connection where id = ${uuid('con', connectionId)}`.execute(world.db)
  expect(
    await walk(
      { connectionId: uuid('con', connectionId) },
      { sortBy: 'createdAt', sortDir: 'desc', limit: 7 },
    ),
  ).toEqual([])
})

async function walkEvents(filter: Partial<EventFilter>): Promise<string[]> {
  const found: EventSummary[] = []
  let afterId: string | undefined
  for (;;) {
    const whole: EventFilter = {
      projectId: uuid('prj', world.projectId),
      sourceId: undefined,
      status: undefined,
      eventType: undefined,
      fromId: undefined,
      untilId: undefined,
      sortDir: 'desc',
      ...filter,
      afterId,
    }
    const page = { limit: 7, nowMs: world.clock.now(), readRows: READ_ROWS }
    const { rows, nextId } = cut(await listEvents(world.deps.lists, whole, page), page.limit)
    found.push(...rows)
    if (nextId === undefined) return found.map(({ id }) => id)
    afterId = nextId
  }
}

test('every combination of filters meets each event once in both orders', async () => {
  const sourceId = uuid('src', shops[0]?.sourceId ?? '')
  const middle = events[Math.floor(events.length / 2)]?.id
  for (const source of [{}, { sourceId }]) {
    for (const of of [{}, { status: 'received' }, { status: 'rejected' }, { status: 'pending' }]) {
      for (const bound of [{}, { fromId: middle }, { untilId: middle }]) {
        const rows = events
          .filter((row) => !('sourceId' in source) || row.sourceId === sourceId)
          .filter((row) => !('status' in of) || row.status === of.status)
          .filter(({ id }) => !('fromId' in bound) || id >= (bound.fromId ?? ''))
          .filter(({ id }) => !('untilId' in bound) || id < (bound.untilId ?? ''))
        const ids = rows.map(({ id }) => id).toSorted()
        const filter = { ...source, ...of, ...bound }
        expect(await walkEvents({ ...filter, sortDir: 'asc' }), JSON.stringify(filter)).toEqual(ids)
        expect(await walkEvents(filter), JSON.stringify(filter)).toEqual(ids.toReversed())
      }
    }
  }
}, 120_000)
