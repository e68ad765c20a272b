import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { openPool } from '../../core/db/connection/db.ts'
import { parkedLanes } from '../../core/db/deliveries/work/parked-lanes.ts'
import { PARTITIONS } from '../../core/limits.ts'
import { startWorld, type World } from '../kit/world.ts'

/** Lanes of a partition: half of them have rows in the next partition too, as after a change of plan. */
const LANES = 40
const ROWS = 3

let world: World
/** As a worker's; a single session, whose statistics can be written before they are read. */
let pool: ReturnType<typeof openPool>
beforeAll(async () => {
  world = await startWorld()
  pool = openPool({ url: world.databaseUrl, max: 1, log: world.deps.log, planning: 'lookups' })
  await sql`
    insert into delivery_waiting (delivery_id, class, organisation_id, project_id, destination_id, partition, status,
      attempt_trigger, next_at)
    select gen_random_uuid(), 90, gen_random_uuid(), gen_random_uuid(), lane.destination_id,
      case when n = ${ROWS} and lane.number % 2 = 0 then (home + 1) % ${sql.lit(PARTITIONS)} else home end,
      'pending', 'initial', case when lane.number = 1 then now() end
    from generate_series(0, ${sql.lit(PARTITIONS - 1)}) as home
    cross join lateral (
      select number, gen_random_uuid() as destination_id from generate_series(1, ${sql.lit(LANES)}) as number
      where home >= 0
    ) as lane cross join generate_series(1, ${sql.lit(ROWS)}) as n`.execute(world.db)
})
afterAll(async () => {
  await pool.end()
  await world[Symbol.asyncDispose]()
})

async function entriesRead(): Promise<Map<string, number>> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ name: string; entries: string }>(`
    select indexrelname as name, idx_tup_read as entries from pg_stat_user_indexes where relname = 'delivery_waiting'
    union all select 'the table', seq_tup_read from pg_stat_user_tables where relname = 'delivery_waiting'`)
  return new Map(rows.map(({ name, entries }) => [name, Number(entries)]))
}

test.for([[[7]], [[0, 63, 31]], [[]], [Array.from({ length: PARTITIONS }, (_, n) => n)]])(
  'a worker of partitions %j finds each lane with parked rows in each of them',
  async ([partitions = []]) => {
    const { rows } = await sql<{ destinationId: string; partition: number }>`
      select distinct destination_id as "destinationId", partition from delivery_waiting
      where next_at is null and partition = any(${partitions}::int2[])`.execute(world.db)
    const found = await parkedLanes(pool, partitions)
    const key = (lane: { destinationId: string; partition: number }): string =>
      `${lane.partition} ${lane.destinationId}`
    expect(found.map(key).toSorted()).toEqual(rows.map(key).toSorted())
  },
)

test('a look at a partition reads as many index entries as it has lanes, and no more', async () => {
  await sql`analyze delivery_waiting`.execute(world.db)
  const before = await entriesRead()
  const found = await parkedLanes(pool, [7])
  const after = await entriesRead()
  const read = [...after].map(([name, entries]) => [name, entries - (before.get(name) ?? 0)])
  const touched = read.filter(([, entries]) => entries !== 0)
  expect(touched).toEqual([['delivery_waiting_parked', found.length]])
})
