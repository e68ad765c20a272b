import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** Reads within a transaction as the connections for lists do all the time. */
export async function byIndexOnly<T>(tx: Db, read: () => Promise<T>): Promise<T> {
  await allow(tx, 'off')
  const found = await read()
  await allow(tx, 'on')
  return found
}

async function allow(tx: Db, setting: 'on' | 'off'): Promise<void> {
  await sql`
    select set_config(name, ${setting}, true)
    from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_incremental_sort']) as name`.execute(
    tx,
  )
}
