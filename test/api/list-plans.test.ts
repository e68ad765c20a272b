import { Kysely, PostgresDialect, sql, type CompiledQuery } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { openDb, openPool, type Pool } from '../../core/db/connection/db.ts'
import { KEPT, KEPT_TEXTS_MAX } from '../../core/db/connection/kept-plans.ts'
import { warmUp } from '../../core/db/connection/warm-up.ts'
import type { DeliveryFilter } from '../../core/db/deliveries/read/delivery-indexes.ts'
import { listDeliveries, type DeliveryPage } from '../../core/db/deliveries/read/delivery-lists.ts'
import { findOpen } from '../../core/db/deliveries/upkeep/sweep.ts'
import { listEvents, type EventFilter } from '../../core/db/events/events.ts'
import { expireWaiting } from '../../core/db/retention/expiry.ts'
import type { Tables } from '../../core/db/tables.ts'
import { firstIdAt, newId } from '../../core/ids.ts'
import { NO_FILTER } from '../kit/no-filter.ts'
import { seedRoute, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Stored since the server last looked at its tables: it knows nothing of them. */
const STORED = 30_000

/** Every so many of them are of the other source, destination and connection. */
const RARE = 10_000

const READ_ROWS = 1_000

/** The rows a way is chosen by and those of the page itself come to it. */
const READ_MAX = 2 * READ_ROWS

let world: World
let lists: Pool
let common: SeededRoute
let rare: SeededRoute

beforeAll(async () => {
  world = await startWorld()
  lists = openPool({ url: world.databaseUrl, max: 1, log: world.deps.log, planning: 'lists' })
  common = await seedRoute(world, 'common')
  rare = await seedRoute(world, 'rare')
  const idOf = (parent: 'source' | 'destination' | 'connection', prefix: 'src' | 'dst' | 'con') =>
    sql`case when n % ${sql.lit(RARE)} = 0 then ${uuid(prefix, rare[`${parent}Id`])}::uuid
      else ${uuid(prefix, common[`${parent}Id`])}::uuid end`
  await sql`
    create table stored as
    select uuidv7(interval '-1 hour' + n * interval '10 ms') as id, ${uuid('prj', world.projectId)}::uuid as project_id,
      ${uuid('org', world.organisationId)}::uuid as organisation_id, ${idOf('source', 'src')} as source_id,
      ${idOf('destination', 'dst')} as destination_id, ${idOf('connection', 'con')} as connection_id,
      case when n % 3 = 0 then 'pending' when n % 100 = 1 then 'cancelled' else 'failed' end as status,
      case when n % 2 = 0 then 'bad_response' else 'timeout' end as error,
      case when n % 2 = 0 then 500 end as response
    from generate_series(1, ${STORED}::int) as n`.execute(world.db)
  await sql`
    insert into event (class, id, organisation_id, project_id, source_id, status, verified_with, method, path, query,
      headers, size_bytes, is_binary, remote_ip, raw, verified_us, matched_us)
    select 90, id, organisation_id, project_id, source_id, 'rejected', 'none', 'POST', '', '', '[]', 2, false, '', '{}', 1, 1
    from stored`.execute(world.db)
  await sql`
    insert into delivery (class, id, event_id, connection_id, destination_id, source_id, project_id, status, trigger,
      max_attempts, last_error_code, last_response_status)
    select 90, id, id, connection_id, destination_id, source_id, project_id, status, 'ingest', 8, error, response
    from stored`.execute(world.db)
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, connection_id, source_id,
      partition, status, attempt_trigger, next_at, error_code, response_status)
    select id, 90, organisation_id, project_id, destination_id, connection_id, source_id, 0, status, 'automatic',
      now() + interval '1 day', error, response
    from stored where status = 'pending'`.execute(world.db)
  await sql`
    insert into delivery_failed (delivery_id, class, project_id, destination_id, connection_id, source_id, status, error_code,
      response_status)
    select id, 90, project_id, destination_id, connection_id, source_id, status, error, response
    from stored where status <> 'pending'`.execute(world.db)
}, 60_000)
afterAll(async () => {
  await lists.end()
  await world[Symbol.asyncDispose]()
})

const Node = z.looseObject({
  'Actual Rows': z.number(),
  'Actual Loops': z.number(),
  'Rows Removed by Filter': z.number().default(0),
  get Plans() {
    return z.array(Node).default([])
  },
})
const Explained = z.tuple([z.object({ 'QUERY PLAN': z.tuple([z.object({ Plan: Node })]) })])

/** Rows that the scans of a plan take from their tables. */
function rowsRead(node: z.infer<typeof Node>): number {
  const inner = node.Plans.map(rowsRead)
  if (inner.length > 0) return inner.reduce((sum, rows) => sum + rows, 0)
  return node['Actual Loops'] * (node['Actual Rows'] + node['Rows Removed by Filter'])
}

/** The rows that each reading statement reads. */
async function readBy(
  act: (db: Kysely<Tables>) => Promise<unknown>,
  pool: Pool = lists,
): Promise<number[]> {
  const caught: CompiledQuery[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: (event) => {
      if (/\bselect\b/.test(event.query.sql)) caught.push(event.query)
    },
  })
  await act(db)
  const read: number[] = []
  for (const { sql: text, parameters } of caught) {
    const { rows } = text.startsWith('/* kept */')
      ? await explainKept(pool, text, parameters)
      : await pool.query(`explain (analyze, format json) ${text}`, [...parameters])
    read.push(rowsRead(Explained.parse(rows)[0]['QUERY PLAN'][0].Plan))
  }
  return read
}

/** As a plan that was made for any values. */
async function explainKept(
  pool: Pool,
  text: string,
  parameters: readonly unknown[],
): Promise<{ rows: unknown[] }> {
  const values = parameters.map((value) => pg.escapeLiteral(String(value))).join(', ')
  await pool.query(`set plan_cache_mode = force_generic_plan; prepare list as ${text}`)
  try {
    return await pool.query(`explain (analyze, format json) execute list(${values})`)
  } finally {
    await pool.query('deallocate list; reset plan_cache_mode')
  }
}

function parentsOf({ sourceId, destinationId, connectionId }: SeededRoute) {
  return {
    sourceId: uuid('src', sourceId),
    destinationId: uuid('dst', destinationId),
    connectionId: uuid('con', connectionId),
  }
}

test('no list of deliveries reads more than its share, whatever the filter and however little is known of the tables', async () => {
  const of = { common: parentsOf(common), rare: parentsOf(rare) }
  const filters: Partial<DeliveryFilter>[] = [
    {},
    { status: 'succeeded' },
    { status: 'cancelled' },
    { status: 'cancelled', errorCode: 'bad_response' },
    { status: 'cancelled', responseClass: 5 },
    { errorCode: 'dns_error' },
    { errorCode: 'timeout', responseStatus: 500 },
    { responseStatus: 204 },
    ...[of.common, of.rare].flatMap(({ sourceId, destinationId, connectionId }) => [
      { sourceId },
      { destinationId },
      { connectionId },
      { destinationId, status: 'succeeded' },
      { destinationId, status: 'throttled' },
      { destinationId, status: 'failed', errorCode: 'timeout' },
      { sourceId, status: 'pending' },
      { connectionId, errorCode: 'timeout', responseClass: 5 },
    ]),
    { sourceId: of.rare.sourceId, destinationId: of.common.destinationId },
    { sourceId: of.common.sourceId, destinationId: of.rare.destinationId, status: 'failed' },
  ]
  const orders: Pick<DeliveryPage, 'sortBy' | 'sortDir'>[] = [
    { sortBy: 'createdAt', sortDir: 'desc' },
    { sortBy: 'createdAt', sortDir: 'asc' },
    { sortBy: 'nextAttemptAt', sortDir: 'asc' },
  ]
  const projectId = uuid('prj', world.projectId)
  for (const filter of filters) {
    for (const order of orders) {
      if (order.sortBy === 'nextAttemptAt' && filter.status !== 'pending') continue
      const page = { limit: 20, after: undefined, nowMs: world.clock.now(), readRows: READ_ROWS }
      const read = await readBy((db) =>
        listDeliveries(db, { ...NO_FILTER, projectId, ...filter }, { ...order, ...page }),
      )
      expect(Math.max(...read), JSON.stringify({ ...filter, ...order })).toBeLessThan(READ_MAX)
    }
  }
}, 120_000)

test('no list of events reads more than its share', async () => {
  const of = { common: parentsOf(common), rare: parentsOf(rare) }
  const filters: Partial<EventFilter>[] = [
    {},
    { status: 'received' },
    { status: 'rejected' },
    { status: 'pending' },
    { sourceId: of.rare.sourceId },
    { sourceId: of.rare.sourceId, status: 'rejected' },
    { sourceId: of.common.sourceId, status: 'received' },
    { sourceId: of.common.sourceId, status: 'unmatched' },
  ]
  await expectFewReads(filters, lists)
}, 60_000)

test('no list of a type of events reads more than its share', async () => {
  const of = { common: parentsOf(common), rare: parentsOf(rare) }
  const settings = { url: world.databaseUrl, log: world.deps.log, planning: 'lists' } as const
  await using pool = closing(openPool({ ...settings, max: 1 }))
  const filters: Partial<EventFilter>[] = [
    { eventType: 'order.paid' },
    { eventType: 'order.*' },
    { eventType: 'order.*', sourceId: of.rare.sourceId },
    { eventType: 'order.paid', sourceId: of.common.sourceId, status: 'rejected' },
  ]
  await expectFewReads(filters, pool.of)
}, 60_000)

function closing(of: Pool) {
  return { of, [Symbol.asyncDispose]: async () => await of.end() }
}

async function expectFewReads(filters: readonly Partial<EventFilter>[], pool: Pool): Promise<void> {
  for (const filter of filters) {
    for (const sortDir of ['asc', 'desc'] as const) {
      const whole: EventFilter = {
        projectId: uuid('prj', world.projectId),
        sourceId: undefined,
        status: undefined,
        eventType: undefined,
        fromId: undefined,
        untilId: undefined,
        afterId: undefined,
        ...filter,
        sortDir,
      }
      const page = { limit: 20, nowMs: world.clock.now(), readRows: READ_ROWS }
      const read = await readBy((db) => listEvents(db, whole, page), pool)
      expect(Math.max(...read), JSON.stringify({ ...filter, sortDir })).toBeLessThan(READ_MAX)
    }
  }
}

test('expired deliveries are found among waiting ones, and no step reads all of them', async () => {
  await sql`analyze delivery, delivery_waiting`.execute(world.db)
  const of = {
    untilIds: new Map([[uuid('prj', world.projectId), newId(0)]]),
    afterId: newId(0),
    watermark: newId(world.clock.now() + 3_600_000),
    now: new Date(world.clock.now()),
  }
  // These connections read as a step does.
  const read = await readBy((db) => expireWaiting(db, of, READ_ROWS), lists)
  expect(Math.max(...read)).toBeGreaterThanOrEqual(READ_ROWS)
  expect(Math.max(...read)).toBeLessThan(READ_MAX)
})

test('the sweep reads of what stands in line no more than it looks at, and all of it in order', async () => {
  const client = await lists.connect()
  try {
    await client.query('begin')
    await client.query(`update delivery set lease_until = now() where status = 'pending'`)
    const { rows: inLine } = await client.query<{ id: string }>(
      `select id from delivery where lease_until is not null order by id`,
    )
    const untilId = firstIdAt(world.clock.now())
    const found: string[] = []
    for (let fromId = firstIdAt(0); fromId < untilId;) {
      const before = await readInTransaction(client)
      const { open, endId } = await findOpen(client, { fromId, untilId })
      found.push(...open.map(({ deliveryId }) => deliveryId))
      // Two of three rows here are not pending: they are read and passed over.
      expect((await readInTransaction(client)) - before).toBeLessThan(4 * READ_ROWS)
      fromId = endId
    }
    expect([...new Set(found)]).toEqual(inLine.map(({ id }) => id))
  } finally {
    await client.query('rollback')
    client.release()
  }
})

async function readInTransaction(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: number }>(`
    select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables
    where relname like 'delivery\\_%'`)
  return z.number().parse(rows[0]?.read)
}

/** Statements that the pool's one connection keeps, and those of them whose plan is for any values. */
async function keptPlans(): Promise<{ kept: number; generic: number; mode: string }> {
  const { rows } = await lists.query(`
    select count(*)::int as kept, count(*) filter (where generic_plans > 0)::int as generic,
      current_setting('plan_cache_mode') as mode
    from pg_prepared_statements where name like 'kept%'`)
  return rows[0]
}

test('a list over all days keeps its plan, up to so many of them, and no other statement does', async () => {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: lists }) })
  const before = await keptPlans()
  const list = async (columns: string): Promise<unknown> => {
    const statement = sql`${KEPT}select ${sql.raw(columns)} from event where id = ${newId(0)}::uuid`
    return (await statement.execute(db)).rows
  }
  expect(await list('class')).toEqual([])
  expect(await list('class')).toEqual([])
  expect(await keptPlans()).toEqual({ ...before, kept: before.kept + 1, generic: before.kept + 1 })
  for (let n = 0; n < KEPT_TEXTS_MAX; n++) expect(await list(`${n}`)).toEqual([])
  await expect(list('nothing')).rejects.toThrow('nothing')
  expect(await keptPlans()).toEqual({ kept: KEPT_TEXTS_MAX, generic: KEPT_TEXTS_MAX, mode: 'auto' })
})

test('warmUp() opens connections that know their tables and go with the rest, and says when there are none', async () => {
  const settings = { url: world.databaseUrl, log: world.deps.log, planning: 'lists' } as const
  const cold = openPool({ ...settings, max: 3, min: 2 })
  {
    await using db = openDb(cold)
    await warmUp(db, 2)
    expect([cold.totalCount, cold.idleCount]).toEqual([2, 2])
  }
  expect(cold.totalCount).toBe(0)
  await using away = openDb(openPool({ ...settings, url: 'postgres://127.0.0.1:1/away', max: 3 }))
  await expect(warmUp(away, 2)).rejects.toThrow('ECONNREFUSED')
})
