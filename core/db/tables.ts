import type { ColumnType, Generated, JSONColumnType } from 'kysely'

import type { LedgerTable, SubscriptionTable } from './billing/billing-tables.ts'
import type { ConnectorTables } from './connectors/tables.ts'
import type { DestinationFailureTable, OperationalEventTable } from './deliveries/failure-tables.ts'
import type { OperationTable } from './operations/operation-table.ts'
import type { StatisticsTables } from './statistics/statistics-tables.ts'

/** Every table as kysely sees it. Times are dates to read and ISO text or dates to write. */
export interface Tables extends StatisticsTables, ConnectorTables {
  organisation: OrganisationTable
  project: ProjectTable
  api_key: ApiKeyTable
  invitation: InvitationTable
  audit: AuditTable
  usage: UsageTable
  usage_delta: UsageDeltaTable
  subscription: SubscriptionTable
  ledger: LedgerTable
  source: SourceTable
  source_activity: SourceActivityTable
  secret_usage: SecretUsageTable
  destination: DestinationTable
  destination_failure: DestinationFailureTable
  operational_event: OperationalEventTable
  connection: ConnectionTable
  config_change: ConfigChangeTable
  event: EventTable
  dedupe_key: DedupeKeyTable
  delivery: DeliveryTable
  attempt: AttemptTable
  delivery_waiting: DeliveryWaitingTable
  delivery_failed: DeliveryFailedTable
  doomed_route: DoomedRouteTable
  destination_busy: DestinationBusyTable
  pacing: PacingTable
  process: ProcessTable
  lease: LeaseTable
  sweep: SweepTable
  operation: OperationTable
  idempotent_answer: IdempotentAnswerTable
}

type Time = ColumnType<Date, Date | string, Date | string>
type Json<T> = JSONColumnType<T & object>

interface OrganisationTable {
  id: string
  name: string
  plan: string
  overrides: Json<Record<string, unknown>>
  retention_class: number
  created_at: Time
  updated_at: Time
}

interface ProjectTable {
  id: string
  organisation_id: string
  name: string
  is_default: boolean
  metadata: Json<Record<string, string>>
  created_at: Time
  updated_at: Time
}

interface ApiKeyTable {
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
  window_requests: Generated<number>
  created_at: Time
  updated_at: Time
}

interface InvitationTable {
  id: string
  organisation_id: string
  email: string
  role: string
  token_hash: Buffer
  expires_at: Time
  revoked_at: Time | null
  created_at: Time
}

interface AuditTable {
  id: string
  organisation_id: string
  project_id: string | null
  actor: string
  action: string
  subject_kind: string
  subject_id: string
  changes: Json<Record<string, unknown>>
  at: Time
}

interface UsageTable {
  organisation_id: string
  window_started_at: Time
  deliveries: number
  ends_at: Time | null
  plan: string | null
  ledgered: Generated<number>
  closed_at: Time | null
}

interface UsageDeltaTable {
  organisation_id: string
  at: Time
  deliveries: number
}

interface SourceTable {
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

interface SourceActivityTable {
  source_id: string
  last_event_at: Time | null
  last_handshake_at: Time | null
}

interface SecretUsageTable {
  source_id: string
  rotation_id: string
  current_count: number
  current_seen_at: Time | null
  previous_count: number
  previous_seen_at: Time | null
}

interface DestinationTable {
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

interface ConnectionTable {
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

interface ConfigChangeTable {
  id: Generated<number>
  transaction_id: Generated<string>
  kind: string
  subject_id: string
  at: Generated<Date>
}

interface EventTable {
  class: number
  id: string
  organisation_id: string
  project_id: string
  source_id: string
  status: string
  event_type: string | null
  idempotency_key: string | null
  rejection_reason: string | null
  rejection_detail: string | null
  verified_with: string
  method: string
  path: string
  query: string
  headers: string
  content_type: string | null
  size_bytes: number
  is_binary: boolean
  remote_ip: string
  raw: Buffer
  outcomes: string | null
  verified_us: number
  matched_us: number
  stored_at: Generated<Date>
  transaction_id: Generated<string | null>
}

interface DedupeKeyTable {
  source_id: string
  key: Buffer
  event_id: string
}

interface DeliveryTable {
  class: number
  id: string
  event_id: string | null
  connection_id: string | null
  destination_id: string
  source_id: string | null
  project_id: string
  status: string
  trigger: string
  attempt_count: Generated<number>
  attempt_number: Generated<number>
  max_attempts: number
  lease_until: Time | null
  throttled_reason: string | null
  throttled_at: Time | null
  last_error: string | null
  first_attempt_at: Time | null
  last_attempt_at: Time | null
  last_response_status: number | null
  last_error_code: string | null
  last_duration_ms: number | null
  completed_at: Time | null
}

interface AttemptTable {
  class: number
  delivery_id: string
  number: number
  id: string
  trigger: string
  outcome: string
  started_at: Time
  duration_ms: number
  dns_ms: number | null
  connect_ms: number | null
  tls_ms: number | null
  first_byte_ms: number | null
  url: string
  signature: string
  header_names: string | null
  given_headers?: string | null
  response_status: number | null
  response_headers: string | null
  response_body: Buffer | null
  error_code: string | null
  replica_id: string | null
}

interface DeliveryWaitingTable {
  delivery_id: string
  class: number
  organisation_id: string
  project_id: string
  destination_id: string
  partition: number
  status: string
  attempt_trigger: string
  next_at: Time | null
  claimed_by: string | null
  connection_id?: string | null
  source_id?: string | null
  error_code?: string | null
  response_status?: number | null
  operation_id: string | null
  resumes_as?: string | null
  resumes_at?: Time | null
}

/** A deleted destination or connection whose waiting deliveries are being cancelled. */
interface DoomedRouteTable {
  id: string
  destination_id: string
  /** Null when all that waits for the destination goes. */
  connection_id: string | null
  /** How far the walk over what waits for the destination has come. */
  after_id: string
  is_last_walk: Generated<boolean>
  due_at: Time
}

/** What ended without success. */
interface DeliveryFailedTable {
  delivery_id: string
  class: number
  project_id: string
  destination_id: string
  connection_id?: string | null
  source_id?: string | null
  status: Generated<'failed' | 'cancelled'>
  error_code: string | null
  response_status: number | null
}

/** Destinations that answered busy and have not been found ready since. */
interface DestinationBusyTable {
  destination_id: string
  since: Time
  until: Time
  response_status: number
}

interface PacingTable {
  scope_id: string
  tat: Time
}

interface ProcessTable {
  name: string
  role: string
  id: string
  seen_at: Time
}

interface LeaseTable {
  name: string
  holder: string
  epoch: number
  held_until: Time
}

interface SweepTable {
  name: string
  watermark: string
}

interface IdempotentAnswerTable {
  digest: Buffer
  request: Buffer
  holder: string
  held_until: Time | null
  answer: Buffer | null
  created_at: Time
}
