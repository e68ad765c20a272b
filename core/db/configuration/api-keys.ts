import { sql, type Selectable } from 'kysely'

import { permissionsOf, type Permissions } from '../../keys/permissions.ts'
import { API_WINDOW_SECONDS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

export interface ApiKey {
  id: string
  organisationId: string
  projectId: string | null
  name: string
  secretHint: string
  /** Null: unscoped. */
  permissions: Permissions | null
  expiresAt: Date | null
  revokedAt: Date | null
  /** The person who made it; null for the command line, and for somebody who is gone. */
  createdBy: string | null
  /** The minute of its last request. */
  lastUsedAt: Date | null
  /** Where its last request came from. */
  lastUsedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

/** A key as one request found it, the request already counted. */
export interface KeyUse {
  id: string
  organisationId: string
  projectId: string | null
  permissions: Permissions | null
  /** Requests of the running window, this one included. */
  requests: number
  windowStartedAt: Date
  defaultProjectId: string | null
  /** The project that the request named, when it is one of the organisation. */
  namedProjectId: string | null
}

/**
 * Reads a key that is neither revoked nor expired and counts the request, in one statement: the row lock makes the
 * count exact across processes, and nothing is cached that a revocation would have to reach. Nobody waits for the disk:
 * a crash of PostgreSQL forgets the requests of its last half second. (decisions: Rotation, keys, roles)
 */
export async function useApiKey(
  db: Db,
  hash: Buffer,
  {
    nowMs,
    namedProjectId,
    address,
  }: { nowMs: number; namedProjectId: string | undefined; address: string },
): Promise<KeyUse | undefined> {
  const now = new Date(nowMs)
  // A window that begins in the future was begun before the clock was set back.
  const isRunning = sql`window_started_at > ${new Date(nowMs - API_WINDOW_SECONDS * 1_000)}
    and window_started_at < ${new Date(nowMs + API_WINDOW_SECONDS * 1_000)}`
  const { rows } = await sql<{
    id: string
    organisation_id: string
    project_id: string | null
    permissions: Record<string, string> | null
    window_requests: number
    window_started_at: Date
    default_project_id: string | null
    named_project_id: string | null
  }>`
    with used as (
      update api_key set
        window_requests = case when ${isRunning} then window_requests + 1 else 1 end,
        window_started_at = case when ${isRunning} then window_started_at else ${now} end,
        last_used_from = ${address}
      where secret_hash = ${hash} and revoked_at is null and (expires_at is null or expires_at > ${now})
      returning id, organisation_id, project_id, permissions, window_requests, window_started_at
    )
    select used.*, standard.id as default_project_id, named.id as named_project_id,
      set_config('synchronous_commit', 'off', true)
    from used
    left join project standard on standard.organisation_id = used.organisation_id and standard.is_default
    left join project named on named.organisation_id = used.organisation_id and not named.is_internal
      and named.id = ${namedProjectId ?? null}::uuid`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    permissions: permissionsOf(row.permissions),
    requests: row.window_requests,
    windowStartedAt: row.window_started_at,
    defaultProjectId: row.default_project_id,
    namedProjectId: row.named_project_id,
  }
}

export async function insertApiKey(
  db: Db,
  key: Omit<ApiKey, 'lastUsedAt' | 'lastUsedFrom'> & { secretHash: Buffer },
): Promise<void> {
  await db
    .insertInto('api_key')
    .values({
      id: key.id,
      organisation_id: key.organisationId,
      project_id: key.projectId,
      name: key.name,
      secret_hash: key.secretHash,
      secret_hint: key.secretHint,
      permissions: key.permissions === null ? null : JSON.stringify(key.permissions),
      expires_at: key.expiresAt,
      created_by: key.createdBy,
      created_at: key.createdAt,
      updated_at: key.updatedAt,
    })
    .execute()
}

/** The keys of an organisation, oldest first, revoked and expired ones included. */
export async function listApiKeys(db: Db, organisationId: string): Promise<ApiKey[]> {
  const rows = await db
    .selectFrom('api_key')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('id')
    .execute()
  return rows.map(toApiKey)
}

export async function findApiKey(db: Db, id: string): Promise<ApiKey | undefined> {
  const row = await db.selectFrom('api_key').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toApiKey(row)
}

/** The project and the secret stay what they are. (spec: Authentication 7) */
export async function setPermissions(
  db: Db,
  id: string,
  permissions: Permissions,
  now: Date,
): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ permissions: JSON.stringify(permissions), updated_at: now })
    .where('id', '=', id)
    .execute()
}

export async function revokeApiKey(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ revoked_at: now, updated_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Gives a key to another person: it ends when their membership does. */
export async function handApiKey(db: Db, id: string, personId: string): Promise<void> {
  await db.updateTable('api_key').set({ created_by: personId }).where('id', '=', id).execute()
}

function toApiKey(row: Selectable<Tables['api_key']>): ApiKey {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    name: row.name,
    secretHint: row.secret_hint,
    permissions: permissionsOf(row.permissions),
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    createdBy: row.created_by,
    lastUsedAt: row.window_started_at,
    lastUsedFrom: row.last_used_from,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
