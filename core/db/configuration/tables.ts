import type { Generated, JSONColumnType } from 'kysely'

import type { Json, Time } from '../columns.ts'

export interface OrganisationTable {
  id: string
  name: string
  plan: string
  overrides: Json<Record<string, unknown>>
  retention_class: number
  /** A sign-up made it. */
  signed_up: Generated<boolean>
  /** The network of the stranger who made it by signing up. */
  signed_up_from: Generated<string | null>
  state: Generated<OrganisationState>
  created_at: Time
  updated_at: Time
}

/**
 * `stopped`: its events are stored and not delivered, its configuration cannot be changed. `closed`: its events are not
 * taken either. (architecture: Cells)
 */
export type OrganisationState = 'running' | 'stopped' | 'closed'

/** A file that was exported, and that a later export can follow. */
export interface OrganisationExportTable {
  id: string
  organisation_id: string
  /** The transactions that it has seen. */
  snapshot: string
  finished_at: Time
}

/** An export of another installation that is being imported, or was. */
export interface OrganisationImportTable {
  export_id: string
  organisation_id: string
  /** Pages of the file that are imported. */
  pages: number
  begun_at: Time
  finished_at: Time | null
}

export interface ProjectTable {
  id: string
  organisation_id: string
  name: string
  is_default: boolean
  is_internal: Generated<boolean>
  metadata: Json<Record<string, string>>
  created_at: Time
  updated_at: Time
}

export interface ApiKeyTable {
  id: string
  organisation_id: string
  project_id: string | null
  name: string
  secret_hash: Buffer
  secret_hint: string
  permissions: JSONColumnType<Record<string, string>> | null
  expires_at: Time | null
  revoked_at: Time | null
  window_started_at: Time | null
  last_used_from: string | null
  window_requests: Generated<number>
  created_by: string | null
  created_at: Time
  updated_at: Time
}

export interface InvitationTable {
  id: string
  organisation_id: string
  email: string
  role: string
  token_hash: Buffer
  expires_at: Time
  revoked_at: Time | null
  accepted_at: Time | null
  created_at: Time
}

export interface SourceTable {
  id: string
  organisation_id: string
  project_id: string
  name: string
  kind: string
  mask_id: string
  is_enabled: boolean
  verifier: Json<Record<string, unknown>>
  secrets: Buffer | null
  secret_hint: string | null
  previous_secret_expires_at: Time | null
  rotation_id: string | null
  event_type_field: string | null
  idempotency_keys: Json<string[]>
  allowed_methods: Json<string[]>
  max_payload_size_kb: number
  ingest_response: Json<Record<string, unknown>>
  handshake: JSONColumnType<Record<string, unknown>> | null
  rate_limit: Generated<number>
  metadata: Json<Record<string, string>>
  created_at: Time
  updated_at: Time
}

export interface SecretUsageTable {
  source_id: string
  rotation_id: string
  current_count: number
  current_seen_at: Time | null
  previous_count: number
  previous_seen_at: Time | null
}

export interface DestinationTable {
  id: string
  organisation_id: string
  project_id: string
  name: string
  mode: string
  url: string
  connector_id: string | null
  is_enabled: boolean
  disabled_reason: string | null
  method: string
  header_names: Json<string[]>
  auth: Json<Record<string, unknown>>
  secrets: Buffer
  previous_signing_secret_expires_at: Time | null
  timeout_ms: number
  rate_limit: number | null
  rate_limit_period: string
  max_concurrency: number | null
  retry_policy: Json<Record<string, unknown>>
  health: Generated<string>
  resumed_at: Time | null
  metadata: Json<Record<string, string>>
  created_at: Time
  updated_at: Time
}

export interface ConnectionTable {
  id: string
  organisation_id: string
  project_id: string
  name: string
  source_id: string
  destination_id: string
  is_enabled: boolean
  filter: JSONColumnType<Record<string, unknown>> | null
  metadata: Json<Record<string, string>>
  created_at: Time
  updated_at: Time
}

export interface ConfigChangeTable {
  id: Generated<number>
  transaction_id: Generated<string>
  kind: string
  subject_id: string
  at: Generated<Date>
}
