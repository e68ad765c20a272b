import type { JSONColumnType } from 'kysely'

import type { Time } from '../columns.ts'

export interface ProcessTable {
  name: string
  role: string
  id: string
  seen_at: Time
}

export interface LeaseTable {
  name: string
  holder: string
  epoch: number
  held_until: Time
}

export interface SweepTable {
  name: string
  watermark: string
}

export interface OperationalEventTable {
  id: string
  organisation_id: string
  project_id: string | null
  kind: string
  subject_id: string
  /** A subject has one event of each kind for an occasion. */
  occasion: string
  details: JSONColumnType<Record<string, unknown>>
  at: Time
  /** When it became an alert; null until then. */
  alerted_at: Time | null
}
