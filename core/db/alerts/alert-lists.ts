import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import type { Reach } from '../lists/page.ts'
import { toAlert, type Alert } from './alerts.ts'

/** An alert as people see it. */
export interface ShownAlert extends Alert {
  /** The name of whoever acknowledged it; null also when they are gone. */
  acknowledgedBy: string | null
  mutedUntilMs: number | null
}

export interface AlertQuery {
  state: 'open' | 'closed' | 'all'
  limit: number
  /** Newest first, behind the alert of this id. */
  before: string | undefined
}

/** The alerts of a project, and those of its organisation as a whole. */
export async function listAlerts(
  db: Db,
  reach: Reach,
  { state, limit, before }: AlertQuery,
  now: Date,
): Promise<ShownAlert[]> {
  let query = shown(db, reach, now)
  if (state === 'open') query = query.where('alert.closed_at', 'is', null)
  if (state === 'closed') query = query.where('alert.closed_at', 'is not', null)
  if (before !== undefined) query = query.where('alert.id', '<', before)
  const rows = await query.orderBy('alert.id', 'desc').limit(limit).execute()
  return rows.map(toShown)
}

/** Undefined when the alert is absent or out of reach: the caller must not tell which. */
export async function findAlert(
  db: Db,
  reach: Reach,
  id: string,
  now: Date,
): Promise<ShownAlert | undefined> {
  const row = await shown(db, reach, now).where('alert.id', '=', id).executeTakeFirst()
  return row && toShown(row)
}

export async function countOpenAlerts(db: Db, reach: Reach): Promise<number> {
  const { count } = await db
    .selectFrom('alert')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organisation_id', '=', reach.organisationId)
    .where('closed_at', 'is', null)
    .where(ofProject(reach))
    .executeTakeFirstOrThrow()
  return count
}

/** The first who does it is remembered. */
export async function acknowledgeAlert(
  db: Db,
  id: string,
  by: { personId: string; now: Date },
): Promise<void> {
  await db
    .updateTable('alert')
    .set({ acknowledged_at: by.now, acknowledged_by: by.personId })
    .where('id', '=', id)
    .where('acknowledged_at', 'is', null)
    .execute()
}

function shown(db: Db, reach: Reach, now: Date) {
  return db
    .selectFrom('alert')
    .leftJoin('person', 'person.id', 'alert.acknowledged_by')
    .leftJoin('alert_mute', (join) =>
      join
        .onRef('alert_mute.organisation_id', '=', 'alert.organisation_id')
        .onRef('alert_mute.subject_id', '=', 'alert.subject_id')
        .on('alert_mute.until', '>', now),
    )
    .selectAll('alert')
    .select(['person.name as acknowledged_name', 'alert_mute.until as muted_until'])
    .where('alert.organisation_id', '=', reach.organisationId)
    .where(ofProject(reach))
}

function ofProject({ projectId }: Reach) {
  return sql<boolean>`(alert.project_id is null or ${projectId ?? null}::uuid is null or alert.project_id = ${projectId ?? null}::uuid)`
}

type ShownRow = Awaited<ReturnType<ReturnType<typeof shown>['execute']>>[number]

function toShown(row: ShownRow): ShownAlert {
  return {
    ...toAlert(row),
    acknowledgedBy: row.acknowledged_name,
    mutedUntilMs: row.muted_until?.getTime() ?? null,
  }
}
