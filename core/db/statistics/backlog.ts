import { sql } from 'kysely'

import { GRANULARITIES, type Buckets } from '../../statistics/granularity.ts'
import type { Db } from '../connection/db.ts'

/** Deliveries of a project that wait, and for how long the oldest pending one has. */
export interface Backlog {
  projectId: string
  waiting: number
  oldestMs: number
}

/**
 * Notes what waits now in the minute, the hour and the day. Each keeps the most that was seen, so that any number of
 * processes may note the same, and a row that would not grow is not written.
 */
export async function noteBacklogs(
  db: Db,
  backlogs: readonly Backlog[],
  nowMs: number,
): Promise<void> {
  await sql`
    insert into backlog_rollup as r (project_id, granularity, start, waiting, oldest_ms)
    select project_id, granularity, date_trunc(granularity, ${new Date(nowMs)}::timestamptz, 'UTC'), waiting, oldest_ms
    from unnest(${backlogs.map((each) => each.projectId)}::uuid[],
        ${backlogs.map((each) => each.waiting)}::bigint[],
        ${backlogs.map((each) => Math.round(each.oldestMs))}::bigint[]) as seen (project_id, waiting, oldest_ms)
      cross join unnest(${[...GRANULARITIES]}::text[]) as kept (granularity)
    order by 1, 2, 3
    on conflict (project_id, granularity, start) do update set
      waiting = greatest(r.waiting, excluded.waiting), oldest_ms = greatest(r.oldest_ms, excluded.oldest_ms)
    where excluded.waiting > r.waiting or excluded.oldest_ms > r.oldest_ms`.execute(db)
}

/** The spans of a range in which something waited, by their start. */
export async function readBacklog(
  db: Db,
  projectId: string,
  { granularity, fromMs, toMs }: Buckets,
): Promise<Map<number, Omit<Backlog, 'projectId'>>> {
  const rows = await db
    .selectFrom('backlog_rollup')
    .select(['start', 'waiting', 'oldest_ms as oldestMs'])
    .where('project_id', '=', projectId)
    .where('granularity', '=', granularity)
    .where('start', '>=', new Date(fromMs))
    .where('start', '<', new Date(toMs))
    .execute()
  return new Map(rows.map(({ start, ...seen }) => [start.getTime(), seen]))
}
