import { sql } from 'kysely'

import type { FailureRun } from '../../../delivery/failing.ts'
import { BUSY_STATUSES } from '../../../delivery/retry.ts'
import { FAILING_SILENCE_DAYS } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'

const DELETE_BATCH = 5_000

/** A run of failed attempts, and whose it is. */
export interface DestinationRun extends FailureRun {
  destinationId: string
  organisationId: string
  projectId: string
  name: string
  /** It shows as `failing` already. */
  isJudged: boolean
}

/**
 * A CTE over `minutes`, the counts of attempts that a fold takes: each is noted once, in the order in which it is
 * counted. A minute with a success is one of success. Only destinations that failed have a row; a success may come to be
 * known after failures that followed it, which then are what is left of the run. Rows are locked in the order of their
 * key. After a silence that is longer than any pause between the attempts of a delivery a failure is not the same run.
 */
export const noteFailures = sql`
  insert into destination_failure as f (destination_id, failing_since, last_failure_at, last_success_at)
  select destination_id,
    min(start) filter (where succeeded_at is null or start > succeeded_at),
    max(start) filter (where succeeded_at is null or start > succeeded_at), max(succeeded_at)
  from (
    select destination_id, start,
      max(start) filter (where succeeded > 0) over (partition by destination_id) as succeeded_at
    from minutes where attempts > 0
  ) as outcomes
  group by destination_id
  having min(start) filter (where succeeded_at is null or start > succeeded_at) is not null
    or destination_id in (select destination_id from destination_failure)
  order by destination_id
  on conflict (destination_id) do update set
    failing_since = case
      when excluded.failing_since > f.last_failure_at + ${FAILING_SILENCE_DAYS} * interval '24 hours'
        then excluded.failing_since
      when f.failing_since > coalesce(greatest(f.last_success_at, excluded.last_success_at), '-infinity')
        then f.failing_since
      else (
        select min(at) from unnest(array[excluded.failing_since, excluded.last_failure_at, f.last_failure_at]) as at
        where at > coalesce(greatest(f.last_success_at, excluded.last_success_at), '-infinity'))
      end,
    last_failure_at = greatest(f.last_failure_at, excluded.last_failure_at),
    last_success_at = greatest(f.last_success_at, excluded.last_success_at)`

/** Whether a delivery waits because destination `d` was busy. A busy destination is not failing. */
const isBusy = sql<boolean>`exists (
  select from delivery_waiting w
  where w.project_id = d.project_id and w.response_status = any(${[...BUSY_STATUSES]}::int2[])
    and w.destination_id = d.id)`

/** Ends the runs of destinations that are busy. Rows that others hold are left to the next time. */
export async function endBusyRuns(db: Db): Promise<void> {
  await sql`
    update destination_failure set failing_since = null, last_failure_at = null
    where destination_id in (
      select f.destination_id from destination_failure f join destination d on d.id = f.destination_id
      where f.failing_since is not null and ${isBusy}
      for update of f skip locked)`.execute(db)
}

/**
 * Runs of destinations that are enabled and not busy, in the order of the destinations' ids. A fold may have noted a run
 * of a busy one since `endBusyRuns`, of days at once when it has been away for as long.
 */
export async function listRuns(
  db: Db,
  { afterId, limit }: { afterId: string | undefined; limit: number },
): Promise<DestinationRun[]> {
  let query = db
    .selectFrom('destination_failure as f')
    .innerJoin('destination as d', 'd.id', 'f.destination_id')
    .select(['f.destination_id', 'f.failing_since', 'f.last_failure_at', 'f.judged_since'])
    .select(['f.told_since', 'f.told_percent', 'd.organisation_id', 'd.project_id', 'd.name'])
    .where('d.is_enabled', '=', true)
    .where('f.failing_since', 'is not', null)
    .where(sql<boolean>`not ${isBusy}`)
  if (afterId !== undefined) query = query.where('f.destination_id', '>', afterId)
  const rows = await query.orderBy('f.destination_id').limit(limit).execute()
  return rows.map((row) => {
    const failingSinceMs = row.failing_since?.getTime() ?? 0
    return {
      destinationId: row.destination_id,
      organisationId: row.organisation_id,
      projectId: row.project_id,
      name: row.name,
      failingSinceMs,
      lastFailureAtMs: row.last_failure_at?.getTime() ?? failingSinceMs,
      isJudged: row.judged_since?.getTime() === failingSinceMs,
      told:
        row.told_since === null
          ? null
          : { sinceMs: row.told_since.getTime(), percent: row.told_percent ?? 0 },
    }
  })
}

type RunKey = Pick<DestinationRun, 'destinationId' | 'failingSinceMs'>

/** From then on the destination shows as `failing`, for as long as this run goes on. */
export async function markFailing(db: Db, run: RunKey): Promise<void> {
  const since = new Date(run.failingSinceMs)
  await db
    .updateTable('destination_failure')
    .set({ judged_since: since })
    .where('destination_id', '=', run.destinationId)
    .where('failing_since', '=', since)
    .execute()
}

/** Remembers up to which threshold a run was told of. */
export async function markTold(db: Db, run: RunKey, percent: number): Promise<void> {
  const since = new Date(run.failingSinceMs)
  await db
    .updateTable('destination_failure')
    .set({ told_since: since, told_percent: percent })
    .where('destination_id', '=', run.destinationId)
    .execute()
}

/** A destination that succeeded again after its owner was told that it failed. */
export interface Recovery {
  destinationId: string
  organisationId: string
  projectId: string
  name: string
  toldSince: Date
  recoveredAt: Date
}

export async function listRecoveries(db: Db, limit: number): Promise<Recovery[]> {
  const { rows } = await sql<Recovery>`
    select f.destination_id as "destinationId", d.organisation_id as "organisationId", d.project_id as "projectId",
      d.name, f.told_since as "toldSince", f.last_success_at as "recoveredAt"
    from destination_failure f join destination d on d.id = f.destination_id
    where d.is_enabled and f.last_success_at >= f.told_since limit ${limit}`.execute(db)
  return rows
}

/** True for the caller that ends the telling; nothing is owed for the run any more. */
export async function markRecovered(db: Db, recovery: Recovery): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('destination_failure')
    .set({ told_since: null, told_percent: null })
    .where('destination_id', '=', recovery.destinationId)
    .where('told_since', '=', recovery.toldSince)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes some of the rows that say nothing any more: of what succeeded before `before`, or was deleted. */
export async function deleteEndedRuns(db: Db, before: Date): Promise<void> {
  await sql`
    delete from destination_failure where destination_id in (
      select destination_id from destination_failure f
      where failing_since is null and told_since is null
          and coalesce(last_success_at, '-infinity') < ${before}
        or not exists (select from destination d where d.id = f.destination_id)
      limit ${DELETE_BATCH} for update skip locked)`.execute(db)
}
