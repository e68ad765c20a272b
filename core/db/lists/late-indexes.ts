import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

interface Missing {
  /** An index of a partitioned table, and one of that table's partitions that has none under it. */
  index: string
  partition: string
  isPartitioned: boolean
  /** From the method on: `USING btree (source_id, id)`. */
  definition: string
}

/**
 * An index that a migration gives to a partitioned table alone is made for one partition after the other: a write waits
 * for that of its own partition and no longer. Partitions that are made later have it from the start. Safe to run again.
 */
export async function buildLateIndexes(db: Db): Promise<void> {
  for (;;) {
    const missing = await missingIndexes(db)
    if (missing.length === 0) return
    for (const { index, partition, isPartitioned, definition } of missing) {
      const name = `${partition}_${index.slice(index.lastIndexOf('_') + 1)}`
      const only = isPartitioned ? 'only ' : ''
      // Use one transaction: an index that is not attached would be created again under the same name.
      await db.transaction().execute(async (tx) => {
        await sql.raw(`create index ${name} on ${only}${partition} ${definition}`).execute(tx)
        await sql.raw(`alter index ${index} attach partition ${name}`).execute(tx)
      })
    }
  }
}

/** An index of a partitioned table is valid once each partition has its part. */
async function missingIndexes(db: Db): Promise<Missing[]> {
  const { rows } = await sql<Missing>`
    select i.indexrelid::regclass::text as index, p.inhrelid::regclass::text as partition, c.relkind = 'p' as "isPartitioned",
      substring(pg_get_indexdef(i.indexrelid) from 'USING .*') as definition
    from pg_index i
    join pg_class t on t.oid = i.indrelid and t.relkind = 'p'
    join pg_namespace n on n.oid = t.relnamespace and n.nspname = current_schema()
    join pg_inherits p on p.inhparent = i.indrelid
    join pg_class c on c.oid = p.inhrelid
    where not i.indisvalid and not exists (
      select from pg_inherits ip join pg_index part on part.indexrelid = ip.inhrelid
      where ip.inhparent = i.indexrelid and part.indrelid = p.inhrelid)
    order by 2, 1`.execute(db)
  return rows
}
