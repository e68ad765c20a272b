import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, inject, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { ensureDay, ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { buildLateIndexes } from '../../core/db/lists/late-indexes.ts'
import { migrate } from '../../core/db/migrate.ts'
import { MIGRATIONS } from '../../core/db/migrations/index.ts'
import { foldDeliveries } from '../../core/db/statistics/folds.ts'
import { rollUpDeliveries } from '../../core/db/statistics/rollups.ts'
import { newId } from '../../core/ids.ts'
import { seedRoute, seedDelivery } from '../kit/seed.ts'
import { startWorld } from '../kit/world.ts'

/** Every table below `delivery` that has no valid index by source. */
async function without({ db }: { db: Db }): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select tree.relid::text as name from pg_partition_tree('delivery') tree
    where not exists (
      select from pg_index i where i.indrelid = tree.relid and i.indisvalid
        and pg_get_indexdef(i.indexrelid) like '%btree (source_id, id)')
    order by 1`.execute(db)
  return rows.map(({ name }) => name)
}

test('an index made for the partitioned table alone comes to every partition, those made later included', async () => {
  await using world = await startWorld()
  expect(await without(world)).toEqual([])
  const shop = await seedRoute(world, 'shop')
  await seedDelivery(world, { ...shop, eventId: null })
  await sql`drop index delivery_source`.execute(world.db)
  await sql`create index delivery_source on only delivery (source_id, id)`.execute(world.db)
  // As after a run that was killed half-way.
  await sql`create index delivery_90_source on only delivery_90 (source_id, id)`.execute(world.db)
  await sql`alter index delivery_source attach partition delivery_90_source`.execute(world.db)
  expect(await without(world)).toEqual(
    expect.arrayContaining(['delivery', 'delivery_90', 'delivery_97']),
  )
  await buildLateIndexes(world.db)
  expect(await without(world)).toEqual([])
  await buildLateIndexes(world.db)
  await ensureDay(world.db, 30, world.clock.now() - 3 * DAY_MS)
  await ensurePartitions(world.db, world.clock.now() + 20 * DAY_MS)
  expect(await without(world)).toEqual([])
})

/** A database that was migrated up to one of the migrations and no further. */
async function withFormer(last: string, act: (db: Db) => Promise<void>): Promise<void> {
  await using world = await startWorld()
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/old_${newId(Date.now()).replaceAll('-', '')}`
  const name = url.pathname.slice(1)
  await world.pool.query(`create database ${name}`)
  try {
    await using db = openDb(openPool({ url: url.href, max: 2, log: world.deps.log }))
    const former = Object.entries(MIGRATIONS).filter(([number]) => number <= last)
    const provider = { getMigrations: async () => Object.fromEntries(former) }
    const { error } = await new Migrator({ db, provider }).migrateToLatest()
    expect(error).toBeUndefined()
    await act(db)
  } finally {
    await world.pool.query(`drop database ${name} with (force)`)
  }
}

test('failed and waiting deliveries of a first-version database are in every list of today', async () => {
  await withFormer('0001-relay', async (db) => {
    const project = await storeAsFirstVersion(db)
    await migrate(db, Date.now())
    for (const table of ['delivery_failed', 'delivery_waiting']) {
      const { rows } = await sql`
        select f.destination_id = d.destination_id and f.connection_id = d.connection_id
          and f.source_id = d.source_id as is_whole, d.status
        from ${sql.table(table)} f join delivery d on d.id = f.delivery_id
        where f.project_id = ${project} order by 2`.execute(db)
      const statuses = table === 'delivery_failed' ? ['cancelled', 'failed'] : ['pending']
      expect(rows).toEqual(statuses.map((status) => ({ is_whole: true, status })))
    }
    expect(await without({ db })).toEqual([])
  })
})

test('latencies that were kept as arrays are added to', async () => {
  await withFormer('0014-invitations', async (db) => {
    const ids = [1, 2, 3, 4].map(() => newId(Date.now()))
    const [project, source, destination, connection] = ids
    const start = '2026-11-20T10:00:00Z'
    const whose = sql.join([project, source, destination, connection])
    await sql`
      insert into delivery_rollup (granularity, start, project_id, source_id, destination_id, connection_id, succeeded,
        failed, throttled, attempts, retried, latency_buckets, latency_counts)
      values ('hour of all', ${start}, ${whose}, 3, 0, 0, 3, 0, '{7,9}', '{2,1}')`.execute(db)
    await migrate(db, Date.now())
    await sql`
      insert into delivery_delta (at, project_id, source_id, destination_id, connection_id, succeeded, failed, throttled,
        attempts, retried, latencies)
      values (${start}, ${whose}, 2, 0, 0, 2, 0, '{9,8}')`.execute(db)
    expect(await foldDeliveries(db)).toBe(1)
    expect(await rollUpDeliveries(db, new Date())).toBe(1)
    const { rows } = await sql`
      select attempts, latency_buckets as buckets, latency_counts as counts from delivery_rollup
      where granularity = 'hour of all'`.execute(db)
    expect(rows).toEqual([{ attempts: 5, buckets: '{7,8,9}', counts: '{2,1,2}' }])
  })
})

test('pending_cancellation has the rows of doomed_route, and takes those that the version before writes', async () => {
  await withFormer('0020-accounts', async (db) => {
    const before = await cancelAsFormerVersion(db)
    await migrate(db, Date.now())
    const after = await cancelAsFormerVersion(db)
    const step = '0196f000-0000-7000-8000-000000000000'

    await db.transaction().execute(async (tx) => {
      const locked = await sql`select * from doomed_route where id = ${before} for update`.execute(
        tx,
      )
      expect(locked.rows).toHaveLength(1)
      await sql`update doomed_route set after_id = ${step}, is_last_walk = true where id = ${before}`.execute(
        tx,
      )
    })
    await sql`delete from doomed_route where id = ${after}`.execute(db)

    const rows = await db.selectFrom('pending_cancellation').selectAll().execute()
    expect(rows).toMatchObject([{ id: before, after_id: step, is_last_walk: true }])
  })
})

/** A deleted destination, in the words of the version before. Returns its id. */
async function cancelAsFormerVersion(db: Db): Promise<string> {
  const id = newId(Date.now())
  await sql`
    insert into doomed_route (id, destination_id, connection_id, after_id, due_at)
    values (${id}, ${id}, null, '00000000-0000-7000-8000-000000000000', now())`.execute(db)
  return id
}

/** A failed, a cancelled and a waiting delivery, in the day of a class. Returns the project. */
async function storeAsFirstVersion(db: Db): Promise<string> {
  const organisation = newId(Date.now())
  await sql`
    insert into organisation (id, name, plan, retention_class, created_at, updated_at)
    values (${organisation}, 'old', 'enterprise', 90, now(), now())`.execute(db)
  await ensurePartitions(db, Date.now())
  const project = newId(Date.now())
  for (const status of ['failed', 'cancelled', 'pending']) {
    const id = newId(Date.now())
    await sql`
      insert into delivery (class, id, connection_id, destination_id, source_id, project_id, status, trigger, max_attempts)
      values (90, ${id}, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${project}, ${status}, 'ingest', 8)`.execute(
      db,
    )
    if (status === 'failed') {
      await sql`
        insert into delivery_failed (delivery_id, class, project_id) values (${id}, 90, ${project})`.execute(
        db,
      )
    }
    if (status === 'pending') {
      await sql`
        insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
          attempt_trigger)
        select id, class, ${organisation}, project_id, destination_id, 0, status, 'initial'
        from delivery where id = ${id}`.execute(db)
    }
  }
  return project
}
