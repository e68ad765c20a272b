import { sql, type Insertable, type Selectable } from 'kysely'
import { z } from 'zod'

import { RetryPolicy } from '../../delivery/retry.ts'
import { StoredAuth } from '../../secrets/destination-secrets.ts'
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

/** The columns that PostgreSQL holds as text or JSON. */
export const DestinationColumns = z.object({
  mode: z.enum(['public', 'private']),
  method: z.enum(['POST', 'PUT', 'PATCH']),
  auth: StoredAuth,
  rate_limit_period: z.enum(['second', 'minute', 'hour', 'day']),
  retry_policy: RetryPolicy,
})
type Columns = z.output<typeof DestinationColumns>

export interface Destination {
  id: string
  organisationId: string
  projectId: string
  name: string
  mode: Columns['mode']
  url: string
  connectorId: string | null
  isEnabled: boolean
  disabledReason: string | null
  method: Columns['method']
  headerNames: string[]
  /** Without its secret. */
  auth: StoredAuth
  /** Sealed. */
  secrets: Buffer
  previousSigningSecretExpiresAt: Date | null
  timeoutMs: number
  rateLimit: number | null
  rateLimitPeriod: Columns['rate_limit_period']
  maxConcurrency: number | null
  retryPolicy: RetryPolicy
  health: 'healthy' | 'failing' | 'disabled'
  /** When it became another or was enabled: what it answered before says nothing about it. */
  resumedAt: Date | null
  metadata: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

export const DESTINATION_NAME_TAKEN = 'destination_project_id_name_key'

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listDestinations(
  db: Db,
  projectId: string,
  page: Page,
): Promise<Listed<Destination>[]> {
  const rows = await db
    .selectFrom('destination')
    .selectAll()
    .select([isFailing, sortKey(page).as('sortKey')])
    .where('project_id', '=', projectId)
    .where(afterPage(page))
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toDestination(row), sortKey: row.sortKey }))
}

/** Undefined when the destination is absent or out of reach: the caller must not tell which. */
export async function findDestination(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<Destination | undefined> {
  let query = db
    .selectFrom('destination')
    .selectAll()
    .select(isFailing)
    .where('id', '=', id)
    .where(withinReach(reach))
  if (options?.lock === true) query = query.forUpdate()
  const row = await query.executeTakeFirst()
  return row && toDestination(row)
}

/** Reads the destinations that still exist, by id. */
export async function findDestinations(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, Destination>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('destination')
    .selectAll()
    .select(isFailing)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.id, toDestination(row)]))
}

export async function insertDestination(db: Db, destination: Destination): Promise<void> {
  await db.insertInto('destination').values(toRow(destination)).execute()
}

export async function updateDestination(db: Db, destination: Destination): Promise<void> {
  await db
    .updateTable('destination')
    .set(toRow(destination))
    .where('id', '=', destination.id)
    .execute()
}

/** Takes its connections with it. */
export async function deleteDestination(db: Db, id: string): Promise<void> {
  await db.deleteFrom('destination').where('id', '=', id).execute()
}

/** It fails now, as was last found. */
const isFailing = sql<boolean>`exists (
  select from destination_failure f
  where f.destination_id = destination.id and f.judged_since = f.failing_since)`.as('is_failing')

function toRow(destination: Destination): Insertable<Tables['destination']> {
  return {
    id: destination.id,
    organisation_id: destination.organisationId,
    project_id: destination.projectId,
    name: destination.name,
    mode: destination.mode,
    url: destination.url,
    connector_id: destination.connectorId,
    is_enabled: destination.isEnabled,
    disabled_reason: destination.disabledReason,
    method: destination.method,
    header_names: JSON.stringify(destination.headerNames),
    auth: JSON.stringify(destination.auth),
    secrets: destination.secrets,
    previous_signing_secret_expires_at: destination.previousSigningSecretExpiresAt,
    timeout_ms: destination.timeoutMs,
    rate_limit: destination.rateLimit,
    rate_limit_period: destination.rateLimitPeriod,
    max_concurrency: destination.maxConcurrency,
    retry_policy: JSON.stringify(destination.retryPolicy),
    // Whether it fails is read from what is noted of its attempts.
    health: destination.isEnabled ? 'healthy' : 'disabled',
    resumed_at: destination.resumedAt,
    metadata: JSON.stringify(destination.metadata),
    created_at: destination.createdAt,
    updated_at: destination.updatedAt,
  }
}

function toDestination(
  row: Selectable<Tables['destination']> & { is_failing: boolean },
): Destination {
  const { mode, method, auth, rate_limit_period, retry_policy } = DestinationColumns.parse(row)
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    name: row.name,
    mode,
    url: row.url,
    connectorId: row.connector_id,
    isEnabled: row.is_enabled,
    disabledReason: row.disabled_reason,
    method,
    headerNames: row.header_names,
    auth,
    secrets: row.secrets,
    previousSigningSecretExpiresAt: row.previous_signing_secret_expires_at,
    timeoutMs: row.timeout_ms,
    rateLimit: row.rate_limit,
    rateLimitPeriod: rate_limit_period,
    maxConcurrency: row.max_concurrency,
    retryPolicy: retry_policy,
    health: healthOf(row),
    resumedAt: row.resumed_at,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function healthOf(row: { is_enabled: boolean; is_failing: boolean }): Destination['health'] {
  if (!row.is_enabled) return 'disabled'
  return row.is_failing ? 'failing' : 'healthy'
}
