import { sql } from 'kysely'

import type { Db } from './db.ts'

/** A process that has not been seen for this long is taken for dead. */
export const PROCESS_LIVE_MS = 5_000

export interface ProcessIdentity {
  id: string
  role: string
  name: string
}

/** Says that a process lives. One that restarts under its name replaces its former self. */
export async function reportProcess(
  db: Db,
  process: ProcessIdentity,
  nowMs: number,
): Promise<void> {
  await db
    .insertInto('process')
    .values({ ...process, seen_at: new Date(nowMs) })
    .onConflict((conflict) =>
      conflict.columns(['role', 'name']).doUpdateSet({ id: process.id, seen_at: new Date(nowMs) }),
    )
    .execute()
}

export async function forgetProcess(db: Db, id: string): Promise<void> {
  await db.deleteFrom('process').where('id', '=', id).execute()
}

/** The ids of a role's processes that reported within the last 5 s, or as told. */
export async function liveProcesses(
  db: Db,
  role: string,
  nowMs: number,
  withinMs = PROCESS_LIVE_MS,
): Promise<string[]> {
  const rows = await db
    .selectFrom('process')
    .select('id')
    .where('role', '=', role)
    .where('seen_at', '>', new Date(nowMs - withinMs))
    .execute()
  return rows.map((row) => row.id)
}

/** What the triggers write: the tables whose rows ingest and workers keep in memory. */
type ChangeKind = 'organisation' | 'source' | 'destination'

/** A row that a process may hold an older form of. */
export interface ChangedRow {
  /** Of the change itself. */
  changeId: string
  kind: ChangeKind
  id: string
}

/** Where readers of changes start: everything committed before it is in what they load now. */
export async function changeHorizon(db: Db): Promise<string> {
  const { rows } = await sql<{ horizon: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as horizon`.execute(db)
  return rows[0]?.horizon ?? '0'
}

/**
 * The changes of transaction `since` and later that are committed, and from where to read again: those at or above the
 * returned horizon come next time too, in company of what a transaction that is still open may add between them.
 */
export async function changesSince(
  db: Db,
  since: string,
): Promise<{ horizon: string; changes: ChangedRow[] }> {
  const { rows } = await sql<{ horizon: string; changeId: string | null } & ChangedRow>`
    select h.xmin::text as horizon, c.id::text as "changeId", c.kind, c.subject_id as id
    from (select pg_snapshot_xmin(pg_current_snapshot()) as xmin) h
    left join config_change c on c.transaction_id >= ${since}::text::xid8`.execute(db)
  const changes = rows.flatMap(({ changeId, kind, id }) =>
    changeId === null ? [] : [{ changeId, kind, id }],
  )
  return { horizon: rows[0]?.horizon ?? since, changes }
}

/** Every process has long read what is older than an hour. */
export async function deleteOldChanges(db: Db, nowMs: number): Promise<void> {
  await db
    .deleteFrom('config_change')
    .where('at', '<', new Date(nowMs - 3_600_000))
    .execute()
}
