import type { Generated } from 'kysely'

import type { Time } from '../columns.ts'

/** A destination with failed attempts since it last succeeded, or until shortly before. Times are whole minutes. */
export interface DestinationFailureTable {
  destination_id: string
  /** The first failed attempt since the last success; null when the last attempt succeeded. */
  failing_since: Time | null
  last_failure_at: Time | null
  last_success_at: Time | null
  /** The run that shows as `failing`: that of `failing_since` or an earlier one. */
  judged_since: Time | null
  /** The run that its owner was told of last, and up to which threshold; null once its end was told. */
  told_since: Time | null
  told_percent: number | null
}

export interface DeliveryTable {
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

export interface AttemptTable {
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

export interface DeliveryWaitingTable {
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

/** Deliveries that ended without success. */
export interface DeliveryFailedTable {
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

/** A deleted destination or connection whose waiting deliveries are being cancelled. */
export interface PendingCancellationTable {
  id: string
  destination_id: string
  /** Null when every delivery that waits for the destination is cancelled. */
  connection_id: string | null
  /** The last waiting delivery of the destination that the walk has seen. */
  after_id: string
  is_last_walk: Generated<boolean>
  due_at: Time
}

/** Destinations that answered busy and have not been found ready since. */
export interface DestinationBusyTable {
  destination_id: string
  since: Time
  until: Time
  response_status: number
}

export interface PacingTable {
  scope_id: string
  tat: Time
}
