import { sql, type Selectable } from 'kysely'

import { alertType, type AlertType, type Finding } from '../../alerts/alert-types.ts'
import { isSameAlert } from '../../alerts/telling.ts'
import { newId } from '../../ids.ts'
import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

const DELETE_BATCH = 5_000

export interface Alert {
  id: string
  type: AlertType
  organisationId: string
  projectId: string | null
  subjectId: string
  name: string
  level: number
  summary: string
  evidence: Record<string, unknown>
  openedAtMs: number
  reopened: number
  wellSinceMs: number | null
  closedAtMs: number | null
  toldLevel: number
  toldAtMs: number | null
  acknowledgedAtMs: number | null
}

/** An open alert with what decides whether somebody is told of it. */
export interface OpenAlert extends Alert {
  mutedUntilMs: number | null
  /** There is an endpoint to tell. */
  hasEndpoint: boolean
}

/** Open alerts in the order of their ids. */
export async function listOpenAlerts(
  db: Db,
  { afterId, limit }: { afterId: string | undefined; limit: number },
): Promise<OpenAlert[]> {
  let query = db
    .selectFrom('alert')
    .leftJoin('alert_mute', (join) =>
      join
        .onRef('alert_mute.organisation_id', '=', 'alert.organisation_id')
        .onRef('alert_mute.subject_id', '=', 'alert.subject_id'),
    )
    .selectAll('alert')
    .select('alert_mute.until as muted_until')
    .select(
      sql<boolean>`exists (
        select from project p join destination d on d.project_id = p.id
        where p.organisation_id = alert.organisation_id and p.is_internal and d.is_enabled)`.as(
        'has_endpoint',
      ),
    )
    .where('alert.closed_at', 'is', null)
  if (afterId !== undefined) query = query.where('alert.id', '>', afterId)
  const rows = await query.orderBy('alert.id').limit(limit).execute()
  return rows.map((row) => ({
    ...toAlert(row),
    mutedUntilMs: row.muted_until?.getTime() ?? null,
    hasEndpoint: row.has_endpoint,
  }))
}

/** Locks the open alert of a subject. */
export async function lockOpenAlert(
  tx: Db,
  { type, subjectId }: Pick<Finding, 'type' | 'subjectId'>,
): Promise<Alert | undefined> {
  const row = await tx
    .selectFrom('alert')
    .selectAll()
    .where('type', '=', type)
    .where('subject_id', '=', subjectId)
    .where('closed_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
  return row && toAlert(row)
}

/**
 * Has the subject an open alert of at least this level: the one that is open, the last one if it closed a short while
 * ago, or a new one. When several do it at once, one does it.
 */
export async function raiseAlert(tx: Db, finding: Finding, nowMs: number): Promise<void> {
  const found = {
    name: finding.name,
    level: finding.level,
    summary: finding.summary,
    evidence: JSON.stringify(finding.evidence),
  }
  const open = await lockOpenAlert(tx, finding)
  if (open !== undefined) {
    if (open.level >= finding.level) return
    await tx.updateTable('alert').set(found).where('id', '=', open.id).execute()
    return
  }
  const last = await tx
    .selectFrom('alert')
    .select(['id', 'closed_at'])
    .where('type', '=', finding.type)
    .where('subject_id', '=', finding.subjectId)
    .orderBy('id', 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst()
  if (last !== undefined && last.closed_at === null) return
  if (last?.closed_at && isSameAlert(last.closed_at.getTime(), nowMs)) {
    await tx
      .updateTable('alert')
      .set({ ...found, closed_at: null, well_since: null })
      .set({ reopened: sql`reopened + 1`, opened_at: new Date(nowMs) })
      .where('id', '=', last.id)
      .execute()
    return
  }
  await tx
    .insertInto('alert')
    .values({
      id: newId(nowMs),
      organisation_id: finding.organisationId,
      project_id: finding.projectId,
      type: finding.type,
      subject_id: finding.subjectId,
      ...found,
      opened_at: new Date(nowMs),
    })
    .onConflict((conflict) =>
      conflict.columns(['type', 'subject_id']).where('closed_at', 'is', null).doNothing(),
    )
    .execute()
}

/** Remembers since when the subject of an open alert has been well; null: it is not. */
export async function noteWell(db: Db, id: string, since: Date | null): Promise<void> {
  await db.updateTable('alert').set({ well_since: since }).where('id', '=', id).execute()
}

/** Returns the alert as it was told, for the one caller that closes it. */
export async function closeAlert(tx: Db, id: string, nowMs: number): Promise<Alert | undefined> {
  const before = await tx
    .selectFrom('alert')
    .selectAll()
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
  if (before === undefined) return undefined
  await tx
    .updateTable('alert')
    .set({ closed_at: new Date(nowMs), well_since: null, told_level: 0 })
    .where('id', '=', id)
    .execute()
  return toAlert(before)
}

/** True for the one caller that tells of it: nobody else has told of this level, and it is still open. */
export async function claimTelling(
  tx: Db,
  { id, level, toldLevel }: Pick<Alert, 'id' | 'level' | 'toldLevel'>,
  nowMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('alert')
    .set({ told_level: level, told_at: new Date(nowMs), reopened: 0 })
    .where('id', '=', id)
    .where('level', '=', level)
    .where('told_level', '=', toldLevel)
    .where('closed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes some of the alerts that were closed before `before`, and mutes that are over. */
export async function deleteOldAlerts(db: Db, before: Date, now: Date): Promise<void> {
  await db
    .deleteFrom('alert')
    .where('id', 'in', (old) =>
      old.selectFrom('alert').select('id').where('closed_at', '<', before).limit(DELETE_BATCH),
    )
    .execute()
  await db.deleteFrom('alert_mute').where('until', '<', now).execute()
}

export function toAlert(row: Selectable<Tables['alert']>): Alert {
  return {
    id: row.id,
    type: alertType(row.type),
    organisationId: row.organisation_id,
    projectId: row.project_id,
    subjectId: row.subject_id,
    name: row.name,
    level: row.level,
    summary: row.summary,
    evidence: row.evidence,
    openedAtMs: row.opened_at.getTime(),
    reopened: row.reopened,
    wellSinceMs: row.well_since?.getTime() ?? null,
    closedAtMs: row.closed_at?.getTime() ?? null,
    toldLevel: row.told_level,
    toldAtMs: row.told_at?.getTime() ?? null,
    acknowledgedAtMs: row.acknowledged_at?.getTime() ?? null,
  }
}
