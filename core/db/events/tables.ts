import type { Generated } from 'kysely'

import type { Time } from '../columns.ts'

export interface EventTable {
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
  mail: Buffer | null
  outcomes: string | null
  verified_us: number
  matched_us: number
  stored_at: Generated<Date>
  transaction_id: Generated<string | null>
}

export interface DedupeKeyTable {
  source_id: string
  key: Buffer
  event_id: string
}

export interface SourceActivityTable {
  source_id: string
  last_event_at: Time | null
  last_handshake_at: Time | null
}
