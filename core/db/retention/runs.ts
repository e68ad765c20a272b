import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** Two runs at once would wait for each other's rows. */
const RUN_LOCK = 7_058_614

/** How many finished runs are remembered. */
const RUNS_KEPT = 100

/** Runs `work` unless another process does; undefined when it does. The lock ends with the connection at the latest. */
export async function withRunLock<T>(db: Db, work: () => Promise<T>): Promise<T | undefined> {
  return await db.connection().execute(async (connection) => {
    const { rows } = await sql<{ isHeld: boolean }>`
      select pg_try_advisory_lock(${RUN_LOCK}) as "isHeld"`.execute(connection)
    if (rows[0]?.isHeld !== true) return undefined
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${RUN_LOCK})`.execute(connection)
    }
  })
}

/** The moment up to which everything was purged; undefined before the first run. */
export async function lastRunMs(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ asOf: Date | null }>`
    select max(as_of) as "asOf" from retention_run`.execute(db)
  return rows[0]?.asOf?.getTime()
}

/** Remembers a run that left nothing undone. */
export async function recordRun(
  db: Db,
  run: { asOfMs: number; finishedAtMs: number; report: object },
): Promise<void> {
  await sql`
    insert into retention_run (as_of, finished_at, report)
    values (${new Date(run.asOfMs)}, ${new Date(run.finishedAtMs)}, ${JSON.stringify(run.report)}::jsonb)
    on conflict (as_of) do update set finished_at = excluded.finished_at, report = excluded.report`.execute(
    db,
  )
  await sql`
    delete from retention_run where as_of < (
      select as_of from retention_run order by as_of desc offset ${RUNS_KEPT} limit 1)`.execute(db)
}
