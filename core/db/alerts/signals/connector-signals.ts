import { sql } from 'kysely'

import { ALERT_FINDINGS_MAX } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'
import { onlineReplicasOf } from '../../connectors/live-sessions.ts'
import type { Alert } from '../alerts.ts'
import {
  alertColumns,
  standingsOf,
  type AlertStanding,
  type StandingRow,
} from './alert-standing.ts'

export interface OfflineConnector {
  id: string
  organisationId: string
  projectId: string
  name: string
  lastSeenAt: Date
}

/** Connectors that had a replica once, and none since before `before`. */
export async function offlineConnectors(db: Db, before: Date): Promise<OfflineConnector[]> {
  const { rows } = await sql<OfflineConnector>`
    select c.id, c.organisation_id as "organisationId", c.project_id as "projectId", c.name,
      c.last_seen_at as "lastSeenAt"
    from connector c
    where not c.is_disabled and c.last_seen_at <= ${before} and ${onlineReplicasOf('c.id')} = 0
      and not exists (
        select from alert a where a.type = 'connector.offline' and a.subject_id = c.id and a.closed_at is null)
    order by c.last_seen_at limit ${ALERT_FINDINGS_MAX}`.execute(db)
  return rows
}

export async function standingOfOffline(
  db: Db,
  alerts: readonly Alert[],
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, case when c.id is null or c.is_disabled then 'ended'
      when ${onlineReplicasOf('c.id')} > 0 then 'well' end as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join connector c on c.id = a.subject_id`.execute(db)
  return standingsOf(rows)
}
