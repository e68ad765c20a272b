import { sql } from 'kysely'

import type { Equal } from './ordered.ts'

/** What events and deliveries are listed by, besides their project. */
type Parent = 'source' | 'destination' | 'connection'

/**
 * Rows are of `id`, and of the project. What is another project's is not looked for: nothing would be found among all
 * that it has. "is true" keeps the planner from the index of the project.
 */
export function isOf(parent: Parent, id: string, projectId: string): Equal {
  return {
    column: sql.ref(`t.${parent}_id`),
    value: sql`${id}::uuid`,
    besides: sql`(t.project_id = ${projectId}::uuid) is true`,
    gate: sql`not exists (
      select from ${sql.table(parent)} where id = ${id}::uuid and project_id <> ${projectId}::uuid)`,
  }
}
