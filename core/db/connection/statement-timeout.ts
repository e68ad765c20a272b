import { sql } from 'kysely'

import type { Db } from './db.ts'

/** For each statement to the end of the transaction. */
export async function withStatementTimeout(tx: Db, ms: number): Promise<void> {
  await sql`select set_config('statement_timeout', ${`${Math.max(1, Math.ceil(ms))}ms`}, true)`.execute(
    tx,
  )
}
