import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import type { Alert } from '../alerts.ts'
import {
  alertColumns,
  standingsOf,
  type AlertStanding,
  type StandingRow,
} from './alert-standing.ts'

/** While something is still to be told of the destination, that decides. */
const IS_TOLD = sql`not exists (
  select from operational_event e where e.subject_id = a.subject_id and e.alerted_at is null)`

/**
 * Destinations that were told to fail: ended when somebody took them out of service or deleted them, or when the run is
 * over without a success. That they succeed again is an operational event.
 */
export async function standingOfFailing(
  db: Db,
  alerts: readonly Alert[],
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, 'ended' as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join destination d on d.id = a.subject_id
    left join destination_failure f on f.destination_id = d.id
    where ${IS_TOLD} and (d.id is null or not d.is_enabled
      or f.destination_id is null or (f.failing_since is null and f.told_since is null))`.execute(
    db,
  )
  return standingsOf(rows)
}

/** Destinations that Postern took out of service. */
export async function standingOfDisabled(
  db: Db,
  alerts: readonly Alert[],
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, case when d.id is null then 'ended' else 'well' end as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join destination d on d.id = a.subject_id
    where ${IS_TOLD} and (d.id is null or d.is_enabled)`.execute(db)
  return standingsOf(rows)
}

/** Whether it is there, and is a destination that people made; to the end of the transaction it stays. */
export async function holdDestination(tx: Db, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from destination d join project p on p.id = d.project_id
    where d.id = ${id}::uuid and not p.is_internal for key share of d`.execute(tx)
  return rows.length > 0
}
