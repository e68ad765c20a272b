import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** Locks the resource of that name in a project and returns its id; undefined when there is none. */
export async function lockByName(
  tx: Db,
  kind: 'source' | 'destination' | 'connection' | 'connector',
  { projectId, name }: { projectId: string; name: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(kind)} where project_id = ${projectId} and name = ${name} for update`.execute(
    tx,
  )
  return rows[0]?.id
}

/** Locks the project of that name in an organisation and returns its id; undefined when there is none. */
export async function lockProjectByName(
  tx: Db,
  { organisationId, name }: { organisationId: string; name: string },
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('project')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst()
  return row?.id
}
