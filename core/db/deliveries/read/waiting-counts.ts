import { sql } from 'kysely'

import { RETENTION_CLASSES } from '../../../limits.ts'
import { int2Array } from '../../connection/binary-arrays.ts'
import type { Db } from '../../connection/db.ts'

/** Waiting rows of a project and status that are counted when somebody asks: a few milliseconds. */
export const COUNTED_MAX = 2_000

/** Deliveries of a project that wait now. */
export interface Waiting {
  pending: number
  throttled: number
  /** The delivery that has been pending the longest. */
  oldestPendingId: string | null
}

/** The waiting deliveries of a project, among the rows that were read. */
export interface CountedWaiting {
  projectId: string
  pending: number
  throttled: number
  /** Their time has come. */
  due: number
  /** The delivery that has been pending the longest. */
  oldestPendingId: string | null
}

/** The deliveries of a project that wait for their first attempt, which no worker has begun. */
export interface Undispatched {
  projectId: string
  undispatched: number
  oldest: string
}

/** Counts the next `limit` waiting rows behind an id. `lastId` is undefined when there are no more. */
export async function countWaiting(
  db: Db,
  { afterId, limit, nowMs }: { afterId: string; limit: number; nowMs: number },
): Promise<{ counted: CountedWaiting[]; lastId: string | undefined }> {
  // Ids in text compare as they do in themselves; not every supported version has max(uuid).
  const { rows } = await sql<CountedWaiting & { rows: number; lastId: string }>`
    select project_id as "projectId", count(*) filter (where status = 'pending') as pending,
      count(*) filter (where status = 'throttled') as throttled,
      count(*) filter (where next_at <= ${new Date(nowMs)}) as due, count(*) as rows,
      min(delivery_id::text collate "C") filter (where status = 'pending') as "oldestPendingId",
      max(delivery_id::text collate "C") as "lastId"
    from (
      select delivery_id, project_id, status, next_at from delivery_waiting
      where delivery_id > ${afterId}::uuid order by delivery_id limit ${limit}
    ) as next
    group by project_id`.execute(db)
  const seen = rows.reduce((sum, row) => sum + row.rows, 0)
  const lastId = rows
    .map((row) => row.lastId)
    .toSorted()
    .at(-1)
  return { counted: rows, lastId: seen === limit ? lastId : undefined }
}

/**
 * Keeps what was counted of all waiting rows, and counts what has none: deliveries with ids in the range that wait for
 * their first attempt; below the range there are none. Returns those, by project.
 */
export async function keepWaiting(
  db: Db,
  counted: readonly CountedWaiting[],
  range: { fromId: string; untilId: string },
): Promise<Undispatched[]> {
  const { rows } = await sql<Undispatched>`
    with waiting as (
      select * from unnest(${counted.map((row) => row.projectId)}::uuid[],
        ${counted.map((row) => row.pending)}::bigint[], ${counted.map((row) => row.throttled)}::bigint[])
        as t (project_id, pending, throttled)
    ), undispatched as (
      select project_id, count(*) as undispatched, min(id::text collate "C") as oldest
      from delivery
      where class = any(${int2Array(RETENTION_CLASSES)}::int2[])
        and id >= ${range.fromId}::uuid and id < ${range.untilId}::uuid
        and status = 'pending' and lease_until is not null and connection_id is not null
      group by project_id
    ), present as (
      select project_id, coalesce(pending, 0) as pending, coalesce(throttled, 0) as throttled,
        coalesce(undispatched, 0) as undispatched, oldest::uuid as oldest
      from waiting full join undispatched using (project_id)
    ), gone as (
      delete from waiting_count where project_id not in (select project_id from present)
    ), kept as (
      insert into waiting_count as c (project_id, pending, throttled, undispatched, oldest_undispatched_id)
      select * from present order by project_id
      on conflict (project_id) do update set pending = excluded.pending, throttled = excluded.throttled,
        undispatched = excluded.undispatched, oldest_undispatched_id = excluded.oldest_undispatched_id
      where (c.pending, c.throttled, c.undispatched, c.oldest_undispatched_id) is distinct from
        (excluded.pending, excluded.throttled, excluded.undispatched, excluded.oldest_undispatched_id)
    )
    select project_id as "projectId", undispatched, oldest from undispatched`.execute(db)
  return rows
}

/**
 * A backlog up to `COUNTED_MAX` is counted; of a longer one the last count is good enough. Each row is found through
 * the index by project and status, in its order: a planner that knows nothing of a backlog yet would read and sort it.
 */
export async function readWaiting(db: Db, projectId: string): Promise<Waiting> {
  const { rows } = await sql<{
    pending: number
    throttled: number
    oldest: string | null
    countedPending: number | null
    countedThrottled: number | null
    undispatched: number | null
    oldestUndispatched: string | null
  }>`
    select (select count(*) from (select from delivery_waiting
        where project_id = ${projectId}::uuid and status = 'pending'
        order by delivery_id limit ${COUNTED_MAX}) as rows) as pending,
      (select count(*) from (select from delivery_waiting
        where project_id = ${projectId}::uuid and status = 'throttled'
        order by delivery_id limit ${COUNTED_MAX}) as rows) as throttled,
      (select delivery_id from delivery_waiting
        where project_id = ${projectId}::uuid and status = 'pending' order by delivery_id limit 1) as oldest,
      c.pending as "countedPending", c.throttled as "countedThrottled", c.undispatched,
      c.oldest_undispatched_id as "oldestUndispatched"
    from (select) as one left join waiting_count c on c.project_id = ${projectId}::uuid`.execute(db)
  const row = rows[0]
  if (row === undefined) return { pending: 0, throttled: 0, oldestPendingId: null }
  const pending = atLeast(row.pending, row.countedPending)
  const oldest = [row.oldest, row.oldestUndispatched].filter((id) => id !== null)
  return {
    pending: pending + (row.undispatched ?? 0),
    throttled: atLeast(row.throttled, row.countedThrottled),
    oldestPendingId: oldest.toSorted()[0] ?? null,
  }
}

/** The fresh count is exact unless it reached the limit. */
function atLeast(found: number, counted: number | null): number {
  return found < COUNTED_MAX ? found : Math.max(found, counted ?? 0)
}
