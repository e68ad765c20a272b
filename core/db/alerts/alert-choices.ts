import type { Db } from '../connection/db.ts'
import type { Alert } from './alerts.ts'

/** A subject that nobody is told of for a time. */
export interface Mute {
  subjectId: string
  until: Date
}

/** Milliseconds since the epoch; null when the subject of the alert is not muted. */
export async function mutedUntil(
  db: Db,
  { organisationId, subjectId }: Pick<Alert, 'organisationId' | 'subjectId'>,
): Promise<number | null> {
  const row = await db
    .selectFrom('alert_mute')
    .select('until')
    .where('organisation_id', '=', organisationId)
    .where('subject_id', '=', subjectId)
    .executeTakeFirst()
  return row?.until.getTime() ?? null
}

/** The subjects of an organisation that are muted at `now`. */
export async function listMutes(db: Db, organisationId: string, now: Date): Promise<Mute[]> {
  const rows = await db
    .selectFrom('alert_mute')
    .select(['subject_id', 'until'])
    .where('organisation_id', '=', organisationId)
    .where('until', '>', now)
    .orderBy('until')
    .execute()
  return rows.map((row) => ({ subjectId: row.subject_id, until: row.until }))
}

export async function muteSubject(
  db: Db,
  organisationId: string,
  { subjectId, until }: Mute,
  mutedBy: string | null,
): Promise<void> {
  await db
    .insertInto('alert_mute')
    .values({ organisation_id: organisationId, subject_id: subjectId, until, muted_by: mutedBy })
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'subject_id']).doUpdateSet({ until, muted_by: mutedBy }),
    )
    .execute()
}

export async function unmuteSubject(
  db: Db,
  organisationId: string,
  subjectId: string,
): Promise<void> {
  await db
    .deleteFrom('alert_mute')
    .where('organisation_id', '=', organisationId)
    .where('subject_id', '=', subjectId)
    .execute()
}
