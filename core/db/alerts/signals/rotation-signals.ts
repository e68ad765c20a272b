import { sql } from 'kysely'

import { timeOfId } from '../../../ids.ts'
import { ALERT_FINDINGS_MAX } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'
import type { Alert } from '../alerts.ts'
import {
  alertColumns,
  standingsOf,
  type AlertStanding,
  type StandingRow,
} from './alert-standing.ts'

export interface EndingRotation {
  id: string
  organisationId: string
  projectId: string
  name: string
  startedAtMs: number
  endsAt: Date
  usedAt: Date
  uses: number
}

/** Rotations that end within a time, and whose previous secret was used since `usedSince`. */
export async function endingRotations(
  db: Db,
  { now, endBefore, usedSince }: { now: Date; endBefore: Date; usedSince: Date },
): Promise<EndingRotation[]> {
  const { rows } = await sql<EndingRotation & { rotationId: string }>`
    select s.id, s.organisation_id as "organisationId", s.project_id as "projectId", s.name,
      s.rotation_id as "rotationId", s.previous_secret_expires_at as "endsAt", u.previous_seen_at as "usedAt",
      u.previous_count as uses
    from secret_usage u join source s on s.id = u.source_id and s.rotation_id = u.rotation_id
    where s.previous_secret_expires_at > ${now} and s.previous_secret_expires_at <= ${endBefore}
      and u.previous_seen_at >= ${usedSince}
      and not exists (
        select from alert a where a.type = 'rotation.unused' and a.subject_id = s.id and a.closed_at is null)
    order by s.previous_secret_expires_at limit ${ALERT_FINDINGS_MAX}`.execute(db)
  return rows.map(({ rotationId, ...row }) => ({ ...row, startedAtMs: timeOfId(rotationId) }))
}

/** Over is a rotation that ended, and one that has more time again. */
export async function standingOfRotations(
  db: Db,
  alerts: readonly Alert[],
  { now, endBefore }: { now: Date; endBefore: Date },
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, 'ended' as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join source s on s.id = a.subject_id
    where s.previous_secret_expires_at is null or s.previous_secret_expires_at <= ${now}
      or s.previous_secret_expires_at > ${endBefore}`.execute(db)
  return standingsOf(rows)
}
