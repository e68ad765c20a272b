import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Db } from '../../core/db/connection/db.ts'
import { earliestNextMs } from '../../core/db/deliveries/read/oldest-due.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { startWorld, type World } from '../kit/world.ts'

const ROWS = 50_000

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** Rows of delivery_waiting that its connection has read, through an index or without. */
async function rowsRead(connection: Db): Promise<{ scanned: number; probed: number }> {
  await sql`select pg_stat_force_next_flush()`.execute(connection)
  const { rows } = await sql<{ scanned: number; probed: number }>`
    select coalesce(t.seq_tup_read, 0)::int8 as scanned,
      (select sum(idx_tup_read)::int8 from pg_stat_user_indexes i where i.relid = t.relid) as probed
    from pg_stat_user_tables t where relname = 'delivery_waiting'`.execute(connection)
  return rows[0] ?? { scanned: 0, probed: 0 }
}

test('the age of the oldest due delivery costs a row a partition, whatever waits', async () => {
  const { db } = world
  expect(await earliestNextMs(db)).toBeUndefined()
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id,
      partition, status, attempt_trigger, next_at)
    select gen_random_uuid(), 90, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
      n % ${PARTITIONS}::int, 'pending', 'initial',
      case when n % 2 = 0 then to_timestamp(2000000000 + n) end
    from generate_series(1, ${ROWS}::int) as n`.execute(db)
  await sql`vacuum analyze delivery_waiting`.execute(db)
  await db.connection().execute(async (connection) => {
    const before = await rowsRead(connection)
    expect(await earliestNextMs(connection)).toBe(2_000_000_002_000)
    const after = await rowsRead(connection)
    expect(after.scanned - before.scanned).toBe(0)
    expect(after.probed - before.probed).toBeLessThanOrEqual(PARTITIONS)
    expect(after.probed - before.probed).toBeGreaterThan(0)
  })
})
