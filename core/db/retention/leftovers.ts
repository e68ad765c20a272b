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

/** The projects of each organisation that has one, in the order of their ids. */
export async function projectsOf(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ organisationId: string; projectIds: string[] }>`
    select organisation_id as "organisationId", array_agg(id order by id) as "projectIds"
    from project where organisation_id = any(${organisationIds}::uuid[]) group by organisation_id`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.organisationId, row.projectIds]))
}
