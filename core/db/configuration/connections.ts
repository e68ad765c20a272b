import type { Insertable, Selectable } from 'kysely'

import { storedFilter, type Filter } from '../../match/filter.ts'
import type { Db } from '../connection/db.ts'
import {
  afterPage,
  sortColumn,
  sortKey,
  withinReach,
  type Listed,
  type Page,
  type Reach,
} from '../lists/page.ts'
import type { Tables } from '../tables.ts'

export interface Connection {
  id: string
  organisationId: string
  projectId: string
  name: string
  sourceId: string
  destinationId: string
  isEnabled: boolean
  /** Null lets every event through. */
  filter: Filter | null
  metadata: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

export const CONNECTION_NAME_TAKEN = 'connection_project_id_name_key'

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listConnections(
  db: Db,
  projectId: string,
  page: Page,
): Promise<Listed<Connection>[]> {
  const rows = await db
    .selectFrom('connection')
    .selectAll()
    .select(sortKey(page).as('sortKey'))
    .where('project_id', '=', projectId)
    .where(afterPage(page))
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toConnection(row), sortKey: row.sortKey }))
}

/** Undefined when the connection is absent or out of reach: the caller must not tell which. */
export async function findConnection(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<Connection | undefined> {
  let query = db.selectFrom('connection').selectAll().where('id', '=', id).where(withinReach(reach))
  if (options?.lock === true) query = query.forUpdate()
  const row = await query.executeTakeFirst()
  return row && toConnection(row)
}

/** The connections of a source or of a destination. */
export async function connectionsOf(
  db: Db,
  side: 'source_id' | 'destination_id',
  id: string,
): Promise<Connection[]> {
  const rows = await db
    .selectFrom('connection')
    .selectAll()
    .where(side, '=', id)
    .orderBy('id')
    .execute()
  return rows.map(toConnection)
}

/** Whether the connection is one of its source's already, or one of at most `max`. The source is to be locked before. */
export async function hasRoomFor(
  tx: Db,
  { id, sourceId }: Pick<Connection, 'id' | 'sourceId'>,
  max: number,
): Promise<boolean> {
  const { others, isOne } = await tx
    .selectFrom('connection')
    .select((query) => [
      query.fn.countAll<number>().as('others'),
      query.fn
        .coalesce(query.fn<boolean>('bool_or', [query('id', '=', id)]), query.lit(false))
        .as('isOne'),
    ])
    .where('source_id', '=', sourceId)
    .executeTakeFirstOrThrow()
  return isOne || others < max
}

export async function insertConnection(db: Db, connection: Connection): Promise<void> {
  await db.insertInto('connection').values(toRow(connection)).execute()
}

export async function updateConnection(db: Db, connection: Connection): Promise<void> {
  await db
    .updateTable('connection')
    .set(toRow(connection))
    .where('id', '=', connection.id)
    .execute()
}

export async function deleteConnection(db: Db, id: string): Promise<void> {
  await db.deleteFrom('connection').where('id', '=', id).execute()
}

function toRow(connection: Connection): Insertable<Tables['connection']> {
  return {
    id: connection.id,
    organisation_id: connection.organisationId,
    project_id: connection.projectId,
    name: connection.name,
    source_id: connection.sourceId,
    destination_id: connection.destinationId,
    is_enabled: connection.isEnabled,
    filter: connection.filter === null ? null : JSON.stringify(connection.filter),
    metadata: JSON.stringify(connection.metadata),
    created_at: connection.createdAt,
    updated_at: connection.updatedAt,
  }
}

function toConnection(row: Selectable<Tables['connection']>): Connection {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    name: row.name,
    sourceId: row.source_id,
    destinationId: row.destination_id,
    isEnabled: row.is_enabled,
    filter: row.filter === null ? null : storedFilter(row.filter),
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The names of those that still exist, by id. */
export async function connectionNames(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('connection')
    .select(['id', 'name'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}
