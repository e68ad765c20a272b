import { sql, type Selectable } from 'kysely'

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
import { onlineReplicasOf } from './live-sessions.ts'

export interface Connector {
  id: string
  organisationId: string
  projectId: string
  name: string
  isDisabled: boolean
  /** Null until a gateway has taken it over. */
  provisionedAt: Date | null
  /** Narrows the agents' own allow lists; empty narrows nothing. */
  allowedHosts: string[]
  /** SHA-256 of the one enrolment key that is good. */
  enrollmentHash: Buffer
  metadata: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

/** With what its replicas do. */
export interface SeenConnector extends Connector {
  onlineReplicas: number
  lastSeenAt: Date | null
}

export const CONNECTOR_NAME_TAKEN = 'connector_project_id_name_key'

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listConnectors(
  db: Db,
  projectId: string,
  page: Page,
): Promise<Listed<SeenConnector>[]> {
  const rows = await db
    .selectFrom('connector')
    .selectAll()
    .select([onlineReplicasOf('connector.id').as('online'), sortKey(page).as('sortKey')])
    .where('project_id', '=', projectId)
    .where(afterPage(page))
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toConnector(row), sortKey: row.sortKey }))
}

/** Undefined when the connector is absent or out of reach: the caller must not tell which. */
export async function findConnector(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<SeenConnector | undefined> {
  let query = db
    .selectFrom('connector')
    .selectAll()
    .select(onlineReplicasOf('connector.id').as('online'))
    .where('id', '=', id)
    .where(withinReach(reach))
  if (options?.lock === true) query = query.forUpdate()
  const row = await query.executeTakeFirst()
  return row && toConnector(row)
}

/** To be called under the lock of the organisation, which every create takes. */
export async function countConnectors(tx: Db, organisationId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('connector')
    .select(sql<number>`count(*)::int4`.as('count'))
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow()
  return count
}

export async function insertConnector(db: Db, connector: Connector): Promise<void> {
  await db
    .insertInto('connector')
    .values({
      id: connector.id,
      organisation_id: connector.organisationId,
      project_id: connector.projectId,
      provisioned_at: connector.provisionedAt,
      enrollment_hash: connector.enrollmentHash,
      created_at: connector.createdAt,
      ...changeable(connector),
    })
    .execute()
}

/** Leaves the columns alone that a gateway or a bootstrap may write at the same time. */
export async function updateConnector(db: Db, connector: Connector): Promise<void> {
  await db
    .updateTable('connector')
    .set(changeable(connector))
    .where('id', '=', connector.id)
    .execute()
}

export async function setEnrollment(
  db: Db,
  id: string,
  { hash, now }: { hash: Buffer; now: Date },
): Promise<void> {
  await db
    .updateTable('connector')
    .set({ enrollment_hash: hash, updated_at: now })
    .where('id', '=', id)
    .execute()
}

/**
 * Takes its replicas and the destinations that use it along. The tokens of its replicas are known afterwards as those of
 * a deleted connector.
 */
export async function deleteConnector(tx: Db, id: string, now: Date): Promise<void> {
  await sql`
    insert into revoked_token (token_hash, replica_id, reason, at)
    select token_hash, id, 'connector_deleted', ${now}::timestamptz from replica where connector_id = ${id}::uuid
    on conflict (token_hash) do update set reason = excluded.reason, at = excluded.at`.execute(tx)
  await tx.deleteFrom('connector').where('id', '=', id).execute()
}

/** Destinations that are reached through a connector. */
export async function destinationsThrough(
  db: Db,
  connectorId: string,
): Promise<{ id: string; name: string }[]> {
  return await db
    .selectFrom('destination')
    .select(['id', 'name'])
    .where('connector_id', '=', connectorId)
    .orderBy('id')
    .execute()
}

/** A gateway takes over what waits for one. Says which connectors that were. */
export async function provisionConnectors(db: Db, now: Date): Promise<string[]> {
  const rows = await db
    .updateTable('connector')
    .set({ provisioned_at: now })
    .where('provisioned_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

function changeable(connector: Connector) {
  return {
    name: connector.name,
    is_disabled: connector.isDisabled,
    allowed_hosts: JSON.stringify(connector.allowedHosts),
    metadata: JSON.stringify(connector.metadata),
    updated_at: connector.updatedAt,
  }
}

function toConnector(row: Selectable<Tables['connector']> & { online: number }): SeenConnector {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    name: row.name,
    isDisabled: row.is_disabled,
    provisionedAt: row.provisioned_at,
    allowedHosts: row.allowed_hosts,
    enrollmentHash: row.enrollment_hash,
    onlineReplicas: row.online,
    lastSeenAt: row.last_seen_at,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
