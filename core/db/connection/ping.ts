import { sql } from 'kysely'

import type { Db } from './db.ts'

/** Rejects while PostgreSQL does not answer. */
export async function ping(db: Db): Promise<void> {
  try {
    await sql`select 1`.execute(db)
  } catch (cause) {
    throw new Error(`PostgreSQL cannot be used: ${String(cause)}`, { cause })
  }
}
