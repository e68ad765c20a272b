import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import { withinReach, type Reach } from '../lists/page.ts'

/** The kind of a subject, as its ids begin, and its name. */
export interface SubjectPlace {
  prefix: 'dst' | 'cnr' | 'src' | 'org'
  name: string
}

/** By id, the subjects among these that are within reach: resources of the project, and its organisation. */
export async function subjectPlaces(
  db: Db,
  reach: Reach,
  ids: readonly string[],
): Promise<Map<string, SubjectPlace>> {
  if (ids.length === 0) return new Map()
  const within = sql`${withinReach(reach)} and id = any(${ids}::uuid[])`
  const { rows } = await sql<SubjectPlace & { id: string }>`
    select id, 'dst' as prefix, name from destination where ${within}
    union all select id, 'cnr', name from connector where ${within}
    union all select id, 'src', name from source where ${within}
    union all select id, 'org', name from organisation
      where id = ${reach.organisationId}::uuid and id = any(${ids}::uuid[])`.execute(db)
  return new Map(rows.map(({ id, ...place }) => [id, place]))
}
