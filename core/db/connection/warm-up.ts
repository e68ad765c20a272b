import { sql } from 'kysely'

import type { Db } from './db.ts'

const NOBODY = '00000000-0000-0000-0000-000000000000'

/** Reads of each table with daily partitions, so that the planner loads all of them and their statistics. */
const READS = [
  `explain select from event where project_id = '${NOBODY}' order by id desc limit 1`,
  `explain select from delivery where event_id = '${NOBODY}' order by id desc limit 1`,
  'explain select from attempt where duration_ms > 0',
]

/**
 * Opens so many connections that have learned their tables before somebody waits for it: with 150 days that takes one
 * 100 ms. Rejects when PostgreSQL does not answer; what was opened stays.
 */
export async function warmUp(db: Db, connections: number): Promise<void> {
  const learn = async (): Promise<void> => {
    await db.connection().execute(async (connection) => {
      for (const read of READS) await sql.raw(read).execute(connection)
    })
  }
  await Promise.all(Array.from({ length: connections }, learn))
}
