import type { Selectable } from 'kysely'
import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import {
  afterPage,
  sortColumn,
  sortKey,
  type Listed,
  type Page,
  type Reach,
} from '../lists/page.ts'
import type { Tables } from '../tables.ts'

export interface Project {
  id: string
  organisationId: string
  name: string
  isDefault: boolean
  metadata: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

export const PROJECT_NAME_TAKEN = 'project_organisation_id_name_key'

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listProjects(db: Db, reach: Reach, page: Page): Promise<Listed<Project>[]> {
  let query = db
    .selectFrom('project')
    .selectAll()
    .select(sortKey(page).as('sortKey'))
    .where('organisation_id', '=', reach.organisationId)
    .where('is_internal', '=', false)
    .where(afterPage(page))
  if (reach.projectId !== undefined) query = query.where('id', '=', reach.projectId)
  const rows = await query
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toProject(row), sortKey: row.sortKey }))
}

/** All that a person reaches, by organisation: the default one first and the others by name. */
export async function listProjectsOf(db: Db, personId: string): Promise<Project[]> {
  const rows = await db
    .selectFrom('membership')
    .innerJoin('project', 'project.organisation_id', 'membership.organisation_id')
    .selectAll('project')
    .where('membership.person_id', '=', personId)
    .where('project.is_internal', '=', false)
    .orderBy('project.organisation_id')
    .orderBy('project.is_default', 'desc')
    .orderBy('project.name')
    .execute()
  return rows.map(toProject)
}

/** Undefined when the project is absent or out of reach: the caller must not tell which. */
export async function findProject(db: Db, reach: Reach, id: string): Promise<Project | undefined> {
  if (reach.projectId !== undefined && reach.projectId !== id) return undefined
  const row = await db
    .selectFrom('project')
    .selectAll()
    .where('organisation_id', '=', reach.organisationId)
    .where('is_internal', '=', false)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toProject(row)
}

/** Waits for other changes of the same project. */
export async function lockProject(db: Db, id: string): Promise<void> {
  await db.selectFrom('project').select('id').where('id', '=', id).forUpdate().execute()
}

export async function insertProject(db: Db, project: Project): Promise<void> {
  await db
    .insertInto('project')
    .values({ id: project.id, organisation_id: project.organisationId, ...changeable(project) })
    .execute()
}

export async function updateProject(db: Db, project: Project): Promise<void> {
  await db.updateTable('project').set(changeable(project)).where('id', '=', project.id).execute()
}

/** Takes its sources, destinations, connections and keys with it. */
export async function deleteProject(db: Db, id: string): Promise<void> {
  await db.deleteFrom('project').where('id', '=', id).execute()
}

/** The resources that a deletion of the project deletes with it. */
export async function projectContents(
  db: Db,
  id: string,
): Promise<{
  sourceIds: string[]
  destinationIds: string[]
  connectorIds: string[]
  connections: number
}> {
  const { rows } = await sql<{
    source_ids: string[]
    destination_ids: string[]
    connector_ids: string[]
    connections: number
  }>`
    select array(select id from source where project_id = ${id}) as source_ids,
      array(select id from destination where project_id = ${id}) as destination_ids,
      array(select id from connector where project_id = ${id}) as connector_ids,
      (select count(*) from connection where project_id = ${id}) as connections`.execute(db)
  const [row] = rows
  return {
    sourceIds: row?.source_ids ?? [],
    destinationIds: row?.destination_ids ?? [],
    connectorIds: row?.connector_ids ?? [],
    connections: row?.connections ?? 0,
  }
}

function changeable(project: Project): {
  name: string
  is_default: boolean
  metadata: string
  created_at: Date
  updated_at: Date
} {
  return {
    name: project.name,
    is_default: project.isDefault,
    metadata: JSON.stringify(project.metadata),
    created_at: project.createdAt,
    updated_at: project.updatedAt,
  }
}

function toProject(row: Selectable<Tables['project']>): Project {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    name: row.name,
    isDefault: row.is_default,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
