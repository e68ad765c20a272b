import { sql } from 'kysely'

import { ALERT_FINDINGS_MAX } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'
import { eventMinutes } from '../../statistics/event-minutes.ts'
import type { Alert } from '../alerts.ts'
import {
  alertColumns,
  standingsOf,
  type AlertStanding,
  type StandingRow,
} from './alert-standing.ts'

export interface FloodedSource {
  id: string
  organisationId: string
  projectId: string
  name: string
  requests: number
  rejected: number
  /** The most frequent one. */
  reason: string
}

/**
 * Sources with at least so many rejections since `since`, more than such a part of their requests. Reads the minutes of
 * rejections, and all minutes of sources that have as many.
 */
export async function floodedSources(
  db: Db,
  { since, atLeast, percent }: { since: Date; atLeast: number; percent: number },
): Promise<FloodedSource[]> {
  const { rows } = await sql<FloodedSource>`
    with flooded as materialized (
      select source_id, sum(events) as rejected, (array_agg(rejection_reason order by events desc))[1] as reason
      from (${eventMinutes(sql`start > ${since} and status = 'rejected'`)}) as minutes
      group by source_id having sum(events) >= ${atLeast}
    )
    select s.id, s.organisation_id as "organisationId", s.project_id as "projectId", s.name, c.requests::int8,
      f.rejected::int8, f.reason
    from flooded f join source s on s.id = f.source_id cross join lateral (
      select sum(events) as requests
      from (${eventMinutes(sql`project_id = s.project_id and start > ${since} and source_id = s.id`)}) as minutes
    ) c
    where f.rejected * 100 > c.requests * ${percent}::int4
      and not exists (
        select from alert a where a.type = 'source.rejections' and a.subject_id = s.id and a.closed_at is null)
    order by f.rejected desc limit ${ALERT_FINDINGS_MAX}`.execute(db)
  return rows
}

/** Well are sources whose rejections since `since` are below such a part of their requests, or that had none. */
export async function standingOfFlooded(
  db: Db,
  alerts: readonly Alert[],
  { since, percent }: { since: Date; percent: number },
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, case when s.id is null then 'ended'
      when c.rejected * 100 < c.requests * ${percent}::int4 or c.rejected = 0 then 'well' end as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join source s on s.id = a.subject_id
    cross join lateral (
      select coalesce(sum(events), 0) as requests, coalesce(sum(events) filter (where status = 'rejected'), 0) as rejected
      from (${eventMinutes(sql`project_id = s.project_id and start > ${since} and source_id = s.id`)}) as minutes
    ) c`.execute(db)
  return standingsOf(rows)
}
