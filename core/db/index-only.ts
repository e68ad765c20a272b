import { sql } from 'kysely'

import type { Db } from './db.ts'

/**
 * Reads with the planner held to index scans, for questions that an index answers whatever the tables hold: left to
 * itself it may read a table, or all that an index finds, when its statistics are behind.
 */
export async function byIndexOnly<T>(db: Db, read: (tx: Db) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async (tx) => {
    await sql`
      select set_config(name, 'off', true)
      from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) as name`.execute(tx)
    return await read(tx)
  })
}
