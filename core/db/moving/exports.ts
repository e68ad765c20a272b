import type { Db } from '../connection/db.ts'

/** An export of an organisation that another one can follow. */
export interface Export {
  id: string
  organisationId: string
  /** The transactions that it has seen. */
  snapshot: string
}

/** Call it when the file is complete. */
export async function recordExport(
  db: Db,
  { id, organisationId, snapshot }: Export,
  now: Date,
): Promise<void> {
  await db
    .insertInto('organisation_export')
    .values({ id, organisation_id: organisationId, snapshot, finished_at: now })
    .execute()
}

/** The latest. */
export async function lastExport(db: Db, organisationId: string): Promise<Export | undefined> {
  return await db
    .selectFrom('organisation_export')
    .select(['id', 'organisation_id as organisationId', 'snapshot'])
    .where('organisation_id', '=', organisationId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Forgets that an organisation was exported: it stays. */
export async function deleteExports(db: Db, organisationId: string): Promise<void> {
  await db.deleteFrom('organisation_export').where('organisation_id', '=', organisationId).execute()
}
