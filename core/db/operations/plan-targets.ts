import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** The enabled connections from a source to a destination. */
export interface Way {
  sourceId: string
  destinationId: string
  connections: number
  /** How many of them have a filter, which may keep an event back. */
  filtered: number
}

/** Where replayed events of these sources go. */
export async function waysFrom(
  db: Db,
  projectId: string,
  sourceIds: readonly string[],
): Promise<Way[]> {
  if (sourceIds.length === 0) return []
  const { rows } = await sql<Way>`
    select source_id as "sourceId", destination_id as "destinationId", count(*)::int as connections,
      count(filter)::int as filtered
    from connection
    where source_id = any(${sourceIds}::uuid[]) and project_id = ${projectId}::uuid and is_enabled
    group by 1, 2`.execute(db)
  return rows
}

/** How quickly a destination takes deliveries. */
export interface Target {
  isEnabled: boolean
  rateLimit: number | null
  rateLimitPeriod: 'second' | 'minute' | 'hour' | 'day'
}

/** Destinations that still exist, by id. */
export async function findTargets(
  db: Db,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, Target>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<Target & { id: string }>`
    select id, is_enabled as "isEnabled", rate_limit as "rateLimit", rate_limit_period as "rateLimitPeriod"
    from destination where id = any(${ids}::uuid[]) and project_id = ${projectId}::uuid`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Which of the connections still exist. */
export async function findConnections(
  db: Db,
  projectId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`
    select id from connection
    where id = any(${ids}::uuid[]) and project_id = ${projectId}::uuid`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
