import type { ColumnType, JSONColumnType } from 'kysely'

type Time = ColumnType<Date, Date | string, Date | string>

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

export interface OperationalEventTable {
  id: string
  organisation_id: string
  project_id: string | null
  kind: string
  subject_id: string
  /** Of one occasion a subject has one event of a kind. */
  occasion: string
  details: JSONColumnType<Record<string, unknown>>
  at: Time
}
