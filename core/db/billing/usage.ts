import { sql } from 'kysely'

import type { UsageWindow } from '../../plans/standing.ts'
import type { Db } from '../connection/db.ts'

/** Delta rows folded by one statement. */
export const USAGE_BATCH = 20_000

/** Ended windows that are recorded by one transaction. */
const CLOSE_BATCH = 100

/**
 * Adds counted deliveries to the window that each was counted in and deletes the deltas, in one statement: a reader
 * sees each delivery once. A window that was cut short or belongs to a subscription has a row with its end; any other
 * delta is of its calendar month, from the end of a subscription in that month on. A delta from after a period whose
 * end is not written yet waits for it. Deltas of an organisation between whose first and last nothing begins or ends are
 * of one window, which is looked up once. Returns the number of deltas folded.
 */
export async function foldUsage(db: Db): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    with taken as (
      delete from usage_delta where ctid = any(array(
        select d.ctid from usage_delta d
        where not exists (
          select from subscription s
          where s.organisation_id = d.organisation_id and s.status = 'active' and s.current_period_end <= d.at)
        limit ${USAGE_BATCH} for update of d skip locked))
      returning organisation_id, at, deliveries
    ), spans as materialized (
      select s.*, date_trunc('month', s.first_at, 'UTC') = date_trunc('month', s.last_at, 'UTC') and not exists (
        select from usage u where u.organisation_id = s.organisation_id
          and (u.window_started_at > s.first_at and u.window_started_at <= s.last_at
            or u.ends_at > s.first_at and u.ends_at <= s.last_at)) as is_of_one_window
      from (
        select organisation_id, min(at) as first_at, max(at) as last_at, sum(deliveries) as deliveries
        from taken group by organisation_id
      ) as s
    ), pieces as (
      select organisation_id, first_at as at, deliveries from spans where is_of_one_window
      union all
      select organisation_id, at, deliveries from taken
      where organisation_id in (select organisation_id from spans where not is_of_one_window)
    ), placed as (
      select p.organisation_id, p.deliveries, coalesce(
        (select u.window_started_at from usage u
          where u.organisation_id = p.organisation_id and u.window_started_at <= p.at and u.ends_at > p.at
          order by u.window_started_at desc limit 1),
        greatest(date_trunc('month', p.at, 'UTC'),
          (select max(u.ends_at) from usage u where u.organisation_id = p.organisation_id and u.ends_at <= p.at))
      ) as window_started_at
      from pieces p
    ), added as (
      insert into usage (organisation_id, window_started_at, deliveries)
      select organisation_id, window_started_at, sum(deliveries) from placed group by 1, 2 order by 1, 2
      on conflict (organisation_id, window_started_at)
        do update set deliveries = usage.deliveries + excluded.deliveries, closed_at = null
    )
    select count(*)::int as folded from taken`.execute(db)
  return rows[0]?.folded ?? 0
}

/** Deliveries counted in a window, folded and not, as of one moment. */
export async function readUsage(
  db: Db,
  organisationId: string,
  window: UsageWindow,
): Promise<number> {
  const startedAt = new Date(window.startedAtMs)
  const { rows } = await sql<{ deliveries: number }>`
    select coalesce((select deliveries from usage
        where organisation_id = ${organisationId} and window_started_at = ${startedAt}), 0)
      + coalesce((select sum(deliveries) from usage_delta
        where organisation_id = ${organisationId} and at >= ${startedAt} and at < ${new Date(window.endsAtMs)}), 0)
      as deliveries`.execute(db)
  return rows[0]?.deliveries ?? 0
}

/** Says where a window ends and under which plan it is metered; what was counted in it stays. */
export async function boundWindow(
  db: Db,
  organisationId: string,
  { startedAtMs, endsAtMs, plan }: UsageWindow & { plan: string },
): Promise<void> {
  const columns = { ends_at: new Date(endsAtMs), plan }
  await db
    .insertInto('usage')
    .values({
      organisation_id: organisationId,
      window_started_at: new Date(startedAtMs),
      deliveries: 0,
      closed_at: null,
      ...columns,
    })
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'window_started_at']).doUpdateSet(columns),
    )
    .execute()
}

/** A window that ended, with deliveries that the ledger does not hold yet. */
export interface EndedWindow extends UsageWindow {
  organisationId: string
  deliveries: number
  /** Deliveries of these that the ledger has. */
  ledgered: number
  /** The plan that it is metered under. */
  plan: string
  overrides: Record<string, unknown>
}

/** Windows that ended before a time and are not closed; all that was counted in them is in their sum. */
const endedBefore = (cutoff: Date) => sql`
    from usage u join organisation o on o.id = u.organisation_id
    cross join lateral (select coalesce(u.ends_at,
      (date_trunc('month', u.window_started_at at time zone 'UTC') + interval '1 month') at time zone 'UTC') as ends_at) w
    where u.closed_at is null and u.window_started_at < ${cutoff} and w.ends_at <= ${cutoff}
      and o.state = 'running'
      and not exists (
        select from usage_delta d
        where d.organisation_id = u.organisation_id and d.at >= u.window_started_at and d.at < w.ends_at)`

export async function hasEndedWindows(db: Db, cutoff: Date): Promise<boolean> {
  const { rows } = await sql`select ${endedBefore(cutoff)} limit 1`.execute(db)
  return rows.length > 0
}

/** The oldest windows that ended before `cutoff`, locked to the end of the transaction. */
export async function takeEndedWindows(db: Db, cutoff: Date): Promise<EndedWindow[]> {
  const { rows } = await sql<{
    organisationId: string
    startedAt: Date
    endsAt: Date
    deliveries: number
    ledgered: number
    plan: string
    overrides: Record<string, unknown>
  }>`
    select u.organisation_id as "organisationId", u.window_started_at as "startedAt", w.ends_at as "endsAt",
      u.deliveries, u.ledgered, coalesce(u.plan, o.plan) as plan, o.overrides
    ${endedBefore(cutoff)}
    order by u.window_started_at, u.organisation_id limit ${CLOSE_BATCH}
    for update of u skip locked`.execute(db)
  return rows.map(({ startedAt, endsAt, ...row }) => ({
    ...row,
    startedAtMs: startedAt.getTime(),
    endsAtMs: endsAt.getTime(),
  }))
}

/** The ledger holds what was taken; a delivery that is counted later opens the window again. */
export async function closeWindow(db: Db, window: EndedWindow, now: Date): Promise<void> {
  await db
    .updateTable('usage')
    .set({ closed_at: now, ledgered: window.deliveries, ends_at: new Date(window.endsAtMs) })
    .where('organisation_id', '=', window.organisationId)
    .where('window_started_at', '=', new Date(window.startedAtMs))
    .execute()
}
