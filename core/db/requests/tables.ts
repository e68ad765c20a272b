import type { Json, Time } from '../columns.ts'

export interface AuditTable {
  id: string
  organisation_id: string
  project_id: string | null
  actor: string
  address: string | null
  action: string
  subject_kind: string
  subject_id: string
  changes: Json<Record<string, unknown>>
  at: Time
}

export interface IdempotentAnswerTable {
  digest: Buffer
  request: Buffer
  holder: string
  held_until: Time | null
  answer: Buffer | null
  created_at: Time
}
