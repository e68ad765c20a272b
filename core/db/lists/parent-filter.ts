import { sql } from 'kysely'

import type { Equal } from './ordered.ts'

/** Lists of events and deliveries can be filtered by these parents, besides their project. */
type Parent = 'source' | 'destination' | 'connection'

/**
 * Matches rows of the parent `id`, if the parent belongs to the project. A parent of another project matches nothing, at
 * once, instead of reading all its rows. "is true" keeps the planner from the index of the project.
 */
export function ofParent(parent: Parent, id: string, projectId: string): Equal {
  return {
    column: sql.ref(`t.${parent}_id`),
    value: sql`${id}::uuid`,
    besides: sql`(t.project_id = ${projectId}::uuid) is true`,
    gate: sql`not exists (
      select from ${sql.table(parent)} where id = ${id}::uuid and project_id <> ${projectId}::uuid)`,
  }
}
