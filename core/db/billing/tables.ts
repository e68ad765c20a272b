import type { Generated, JSONColumnType } from 'kysely'

import type { Time } from '../columns.ts'

export interface SubscriptionTable {
  organisation_id: string
  plan: string
  status: string
  anchor_at: Time
  current_period_start: Time
  current_period_end: Time
  cancel_at_period_end: boolean
  scheduled_plan: string | null
  created_at: Time
  updated_at: Time
}

export interface LedgerTable {
  id: string
  organisation_id: string
  kind: string
  plan: string
  window_started_at: Time | null
  window_ends_at: Time | null
  deliveries: number | null
  overage: number | null
  details: JSONColumnType<Record<string, unknown>>
  at: Time
}

export interface UsageTable {
  organisation_id: string
  window_started_at: Time
  deliveries: number
  ends_at: Time | null
  plan: string | null
  ledgered: Generated<number>
  closed_at: Time | null
}

export interface UsageDeltaTable {
  organisation_id: string
  at: Time
  deliveries: number
}
