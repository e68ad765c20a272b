import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** A process that has not been seen for this long is taken for dead. */
export const PROCESS_LIVE_MS = 5_000

export interface ProcessIdentity {
  id: string
  role: string
  name: string
}

/**
 * Reports that a process lives. A process that restarts under its name replaces its former self. All times are the
 * database's: the clocks of processes may differ. A report from before that clock was set back counts from now.
 */
export async function reportProcess(db: Db, { id, role, name }: ProcessIdentity): Promise<void> {
  await sql`
    with foreign_times as (
      update process set seen_at = clock_timestamp()
      where seen_at > clock_timestamp() + interval '1 second' and (role, name) <> (${role}, ${name})
    )
    insert into process (id, role, name, seen_at) values (${id}, ${role}, ${name}, clock_timestamp())
    on conflict (role, name) do update set id = excluded.id, seen_at = excluded.seen_at`.execute(db)
}

export async function forgetProcess(db: Db, id: string): Promise<void> {
  await db.deleteFrom('process').where('id', '=', id).execute()
}

/** The ids of a role's processes that reported within the last 5 s, or as told. */
export async function liveProcesses(
  db: Db,
  role: string,
  withinMs = PROCESS_LIVE_MS,
): Promise<string[]> {
  const since = sql<Date>`clock_timestamp() - ${withinMs}::int4 * interval '1 millisecond'`
  const rows = await db
    .selectFrom('process')
    .select('id')
    .where('role', '=', role)
    .where('seen_at', '>', since)
    .execute()
  return rows.map((row) => row.id)
}

/** Kinds of changes that the triggers write: the tables whose rows ingest and workers cache. */
type ChangeKind = 'organisation' | 'source' | 'destination'

/** A row that a process may hold an older form of. */
export interface ChangedRow {
  /** Identifies the change itself. */
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
