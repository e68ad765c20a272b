import { sql } from 'kysely'

import type { Db } from './db.ts'

/**
 * To the end of the transaction. PostgreSQL 18.4 crashed when a row that an update had found through pruning at run
 * time was changed by another in the meantime; every update that finds rows of partitioned tables by a join needs this.
 */
export async function withoutPruning(tx: Db): Promise<void> {
  await sql`set local enable_partition_pruning = off`.execute(tx)
}
