import { sql } from 'kysely'

import type { Db } from './db.ts'

/** Delta rows folded by one statement. */
const FOLD_BATCH = 10_000

/** The start of the UTC calendar month, and of the next. (spec: Limits, "Delivery quota") */
export function monthOf(nowMs: number): { startedAtMs: number; endsAtMs: number } {
  const now = new Date(nowMs)
  return {
    startedAtMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()),
    endsAtMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1),
  }
}

/**
 * Adds counted deliveries to their organisation's month and deletes the deltas, in one statement: a reader sees each
 * delivery once. Returns the number of deltas folded.
 */
export async function foldUsage(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from usage_delta where ctid in (
        select ctid from usage_delta order by organisation_id limit ${FOLD_BATCH} for update skip locked)
      returning organisation_id, at, deliveries
    ), added as (
      insert into usage (organisation_id, window_started_at, deliveries)
      select organisation_id, date_trunc('month', at, 'UTC'), sum(deliveries) from taken group by 1, 2 order by 1, 2
      on conflict (organisation_id, window_started_at)
        do update set deliveries = usage.deliveries + excluded.deliveries
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}
