import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** The tables with a column `secrets`, which is all that an installation keeps sealed for good. */
export const SEALED_TABLES = ['source', 'destination'] as const

export interface ResealedStep {
  resealed: number
  /** The last id that was looked at; undefined when there is nothing more. */
  lastId: string | undefined
}

export interface SealedRow {
  id: string
  organisationId: string
  secrets: Buffer
}

/**
 * Reseals a step of the rows whose secrets do not begin with `header`, in order of their ids. The rows are locked, so that
 * a change through the API at the same time is neither lost nor undone.
 */
export async function resealSecrets(
  db: Db,
  of: { table: (typeof SEALED_TABLES)[number]; header: Buffer; afterId: string },
  reseal: (row: SealedRow) => Buffer,
  limit: number,
): Promise<ResealedStep> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<SealedRow>`
      select id, organisation_id as "organisationId", secrets from ${sql.table(of.table)}
      where id > ${of.afterId}::uuid and secrets is not null
        and substring(secrets from 1 for ${of.header.length}::int) <> ${of.header}
      order by id limit ${limit} for update`.execute(tx)
    for (const row of rows) {
      await sql`
        update ${sql.table(of.table)} set secrets = ${reseal(row)} where id = ${row.id}::uuid`.execute(
        tx,
      )
    }
    return { resealed: rows.length, lastId: rows.length < limit ? undefined : rows.at(-1)?.id }
  })
}
