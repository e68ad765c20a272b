import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/**
 * Deletes a step of an organisation's audit rows about purged events and deliveries, and of rows older than `untilId`.
 * Returns the number of deleted rows.
 */
export async function deleteAudit(
  db: Db,
  of: { organisationId: string; cutoffId: string; untilId: string },
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from audit where id in (
      select id from audit
      where organisation_id = ${of.organisationId}::uuid and (id < ${of.untilId}::uuid
        or (id < ${of.cutoffId}::uuid and subject_kind in ('event', 'delivery') and subject_id < ${of.cutoffId}::uuid))
      limit ${limit})`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** The pacing of destinations and organisations that are gone. */
export async function deletePacing(db: Db): Promise<void> {
  await sql`
    delete from pacing where not exists (select from destination where id = scope_id)
      and not exists (select from organisation where id = scope_id)`.execute(db)
}

/** Every project with the organisation that it is of. */
export async function projectsOf(db: Db, organisationId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from project where organisation_id = ${organisationId}::uuid order by id`.execute(db)
  return rows.map((row) => row.id)
}
