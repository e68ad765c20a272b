import type { Insertable, Selectable } from 'kysely'
import { z } from 'zod'

import { IngestResponse } from '../../verify/config/ingest-response.ts'
import { VerifierConfig } from '../../verify/config/verifier-config.ts'
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
const Columns = z.object({
  kind: z.enum(['http', 'email']),
  verifier: VerifierConfig,
  allowed_methods: z.array(z.enum(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'])),
  ingest_response: IngestResponse,
  handshake: z.object({ kind: z.string() }).nullable(),
})
type Columns = z.output<typeof Columns>

export interface Source {
  id: string
  organisationId: string
  projectId: string
  name: string
  kind: Columns['kind']
  maskId: string
  isEnabled: boolean
  /** Without its secrets. */
  verifier: VerifierConfig
  /** Sealed; null when the verifier has none. */
  secrets: Buffer | null
  secretHint: string | null
  previousSecretExpiresAt: Date | null
  /** The rotation that the previous secret is of; its uses are counted under it. */
  rotationId: string | null
  eventTypeField: string | null
  idempotencyKeys: string[]
  allowedMethods: Columns['allowed_methods']
  maxPayloadSizeKb: number
  ingestResponse: IngestResponse
  handshake: Columns['handshake']
  /** Requests per second; 0 is unlimited. */
  rateLimit: number
  metadata: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

/** A source with what it has seen. */
export interface ActiveSource extends Source {
  lastEventAt: Date | null
  lastHandshakeAt: Date | null
}

export const SOURCE_NAME_TAKEN = 'source_project_id_name_key'

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listSources(
  db: Db,
  projectId: string,
  page: Page,
): Promise<Listed<ActiveSource>[]> {
  const rows = await db
    .selectFrom('source')
    .leftJoin('source_activity', 'source_id', 'id')
    .selectAll('source')
    .select(['last_event_at', 'last_handshake_at', sortKey(page).as('sortKey')])
    .where('project_id', '=', projectId)
    .where(afterPage(page))
    .orderBy(sortColumn(page), page.sortDir)
    .orderBy('id', page.sortDir)
    .limit(page.limit + 1)
    .execute()
  return rows.map((row) => ({ ...toActiveSource(row), sortKey: row.sortKey }))
}

/** Undefined when the source is absent or out of reach: the caller must not tell which. */
export async function findSource(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<ActiveSource | undefined> {
  let query = db
    .selectFrom('source')
    .leftJoin('source_activity', 'source_id', 'id')
    .selectAll('source')
    .select(['last_event_at', 'last_handshake_at'])
    .where('id', '=', id)
    .where(withinReach(reach))
  if (options?.lock === true) query = query.forUpdate('source')
  const row = await query.executeTakeFirst()
  return row && toActiveSource(row)
}

export async function insertSource(db: Db, source: Source): Promise<void> {
  await db.insertInto('source').values(toRow(source)).execute()
}

export async function updateSource(db: Db, source: Source): Promise<void> {
  await db.updateTable('source').set(toRow(source)).where('id', '=', source.id).execute()
}

/** Requests per second that ingest accepts; 0 is unlimited. False when there is no such source. */
export async function setSourceRateLimit(
  db: Db,
  id: string,
  rateLimit: number,
  now: Date,
): Promise<boolean> {
  const result = await db
    .updateTable('source')
    .set({ rate_limit: rateLimit, updated_at: now })
    .where('id', '=', id)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Takes its connections with it. */
export async function deleteSource(db: Db, id: string): Promise<void> {
  await db.deleteFrom('source_activity').where('source_id', '=', id).execute()
  await db.deleteFrom('source').where('id', '=', id).execute()
}

function toRow(source: Source): Insertable<Tables['source']> {
  return {
    id: source.id,
    organisation_id: source.organisationId,
    project_id: source.projectId,
    name: source.name,
    kind: source.kind,
    mask_id: source.maskId,
    is_enabled: source.isEnabled,
    verifier: JSON.stringify(source.verifier),
    secrets: source.secrets,
    secret_hint: source.secretHint,
    previous_secret_expires_at: source.previousSecretExpiresAt,
    rotation_id: source.rotationId,
    event_type_field: source.eventTypeField,
    idempotency_keys: JSON.stringify(source.idempotencyKeys),
    allowed_methods: JSON.stringify(source.allowedMethods),
    max_payload_size_kb: source.maxPayloadSizeKb,
    ingest_response: JSON.stringify(source.ingestResponse),
    handshake: source.handshake === null ? null : JSON.stringify(source.handshake),
    rate_limit: source.rateLimit,
    metadata: JSON.stringify(source.metadata),
    created_at: source.createdAt,
    updated_at: source.updatedAt,
  }
}

function toActiveSource(
  row: Selectable<Tables['source']> & {
    last_event_at: Date | null
    last_handshake_at: Date | null
  },
): ActiveSource {
  const { kind, verifier, allowed_methods, ingest_response, handshake } = Columns.parse(row)
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    name: row.name,
    kind,
    maskId: row.mask_id,
    isEnabled: row.is_enabled,
    verifier,
    secrets: row.secrets,
    secretHint: row.secret_hint,
    previousSecretExpiresAt: row.previous_secret_expires_at,
    rotationId: row.rotation_id,
    eventTypeField: row.event_type_field,
    idempotencyKeys: row.idempotency_keys,
    allowedMethods: allowed_methods,
    maxPayloadSizeKb: row.max_payload_size_kb,
    ingestResponse: ingest_response,
    handshake,
    rateLimit: row.rate_limit,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastEventAt: row.last_event_at,
    lastHandshakeAt: row.last_handshake_at,
  }
}

/** The names of those that still exist, by id. */
export async function sourceNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('source').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}
