import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { HOUR_MS } from '../../core/clock.ts'
import { agedBacklogs } from '../../core/db/alerts/signals/backlog-signals.ts'
import { floodedSources } from '../../core/db/alerts/signals/rejection-signals.ts'
import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

const QUIET_SOURCES = 3_000
const LANES = 2_000

let world: World
/** As a housekeeper's; a single session, whose statistics can be written before they are read. */
let pool: ReturnType<typeof openPool>
let db: Db
beforeAll(async () => {
  world = await startWorld()
  pool = openPool({ url: world.databaseUrl, max: 1, log: world.deps.log, planning: 'tasks' })
  db = openDb(pool)
})
afterAll(async () => {
  await db.destroy()
  await world[Symbol.asyncDispose]()
})

/** Rows and index entries of some tables that `act` reads in this session. */
async function readBy(tables: readonly string[], act: () => Promise<unknown>): Promise<number> {
  const before = await readSoFar(tables)
  await act()
  return (await readSoFar(tables)) - before
}

async function readSoFar(tables: readonly string[]): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ entries: string }>(
    `select sum(idx_tup_read) + (select sum(seq_tup_read) from pg_stat_user_tables where relname = any($1)) as entries
    from pg_stat_user_indexes where relname = any($1)`,
    [tables],
  )
  return Number(rows[0]?.entries)
}

test('the search for flooded sources finds them and does not read the minutes of all others', async () => {
  const flooded = await seedRoute(world, 'flooded')
  const start = new Date(world.clock.now() - 60_000)
  for (const table of ['event_minute', 'event_rollup']) {
    const [column, value] =
      table === 'event_rollup' ? [sql`granularity,`, sql`'minute of all',`] : [sql``, sql``]
    await sql`
      insert into ${sql.table(table)} (project_id, ${column} start, source_id, status, rejection_reason, events)
      select gen_random_uuid(), ${value} ${start}::timestamptz, gen_random_uuid(), 'received', '', 100
      from generate_series(1, ${QUIET_SOURCES})
      union all select ${uuid('prj', world.projectId)}::uuid, ${value} ${start}::timestamptz, ${uuid('src', flooded.sourceId)}::uuid,
        status, reason, 40 from (values ('received', ''), ('rejected', 'signature_mismatch')) as v (status, reason)`.execute(
      db,
    )
    await sql`analyze ${sql.table(table)}`.execute(db)
  }
  const since = new Date(start.getTime() - HOUR_MS)
  const search = async (atLeast: number) =>
    await floodedSources(db, { since, atLeast, percent: 49 })
  expect(await search(81)).toEqual([])
  const read = await readBy(['event_minute', 'event_rollup'], async () => {
    expect(await search(80)).toMatchObject([
      {
        id: uuid('src', flooded.sourceId),
        requests: 160,
        rejected: 80,
        reason: 'signature_mismatch',
      },
    ])
  })
  expect(read).toBeLessThan(50)
})

test('the search for aged backlogs reads the lanes of its partitions alone', async () => {
  const { destinationId } = await seedRoute(world, 'aged')
  const aged = 5
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger)
    select gen_random_uuid(), 90, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), n % ${sql.lit(PARTITIONS)},
      'pending', 'initial' from generate_series(1, ${LANES}) as n
    union all select '00000000-0000-7000-8000-000000000001', 90, ${uuid('org', world.organisationId)}::uuid,
      ${uuid('prj', world.projectId)}::uuid, ${uuid('dst', destinationId)}::uuid, ${aged}, 'pending', 'initial'`.execute(
    db,
  )
  await sql`analyze delivery_waiting`.execute(db)
  const before = new Date(world.clock.now() - HOUR_MS)
  expect(await agedBacklogs(db, before, [aged + 1, PARTITIONS - 1])).toEqual([])
  const read = await readBy(['delivery_waiting'], async () => {
    expect(await agedBacklogs(db, before, [0, aged])).toMatchObject([{ name: 'aged' }])
  })
  expect(read).toBeLessThan(LANES / 4)
})
