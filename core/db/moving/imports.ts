import type { Db } from '../connection/db.ts'

/** How far an import has come. */
export interface Import {
  exportId: string
  organisationId: string
  /** Pages that are here. */
  pages: number
  finishedAt: Date | null
}

const COLUMNS = [
  'export_id as exportId',
  'organisation_id as organisationId',
  'pages',
  'finished_at as finishedAt',
] as const

export async function findImport(db: Db, exportId: string): Promise<Import | undefined> {
  return await db
    .selectFrom('organisation_import')
    .select(COLUMNS)
    .where('export_id', '=', exportId)
    .executeTakeFirst()
}

export async function beginImport(
  tx: Db,
  { exportId, organisationId }: Pick<Import, 'exportId' | 'organisationId'>,
  now: Date,
): Promise<void> {
  await tx
    .insertInto('organisation_import')
    .values({
      export_id: exportId,
      organisation_id: organisationId,
      pages: 0,
      begun_at: now,
      finished_at: null,
    })
    .execute()
}

/** Call it in the transaction of the page. False when another process has imported this page. */
export async function notePage(tx: Db, exportId: string, page: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('organisation_import')
    .set({ pages: page })
    .where('export_id', '=', exportId)
    .where('pages', '=', page - 1)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function finishImport(db: Db, exportId: string, now: Date): Promise<void> {
  await db
    .updateTable('organisation_import')
    .set({ finished_at: now })
    .where('export_id', '=', exportId)
    .execute()
}

/** Whether an import of an organisation has begun and not ended. */
export async function isImporting(db: Db, organisationId: string): Promise<boolean> {
  const row = await db
    .selectFrom('organisation_import')
    .select('export_id')
    .where('organisation_id', '=', organisationId)
    .where('finished_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
