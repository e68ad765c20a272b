import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'

/** How many deliveries of each destination show as in flight, by its id; those of one project, which are few. */
export async function countUnderWay(
  db: Db,
  projectId: string,
  destinationIds: readonly string[],
): Promise<Map<string, number>> {
  if (destinationIds.length === 0) return new Map()
  const { rows } = await sql<{ destinationId: string; count: number }>`
    select destination_id as "destinationId", count(*)::int as count from delivery_waiting
    where project_id = ${projectId}::uuid and status = 'in_flight' and destination_id = any(${destinationIds}::uuid[])
    group by destination_id`.execute(db)
  return new Map(rows.map((row) => [row.destinationId, row.count]))
}
