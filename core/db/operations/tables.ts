import type { ColumnType, Generated, JSONColumnType } from 'kysely'

import type { Time } from '../columns.ts'

/** As the JSON of the column has it. */
interface StoredLeftOver {
  class: number
  id: string
  tries: number
}

export interface OperationTable {
  id: string
  organisation_id: string
  project_id: string
  kind: string
  status: string
  selection: JSONColumnType<Record<string, unknown>>
  matched: number
  is_truncated: boolean
  processed: Generated<number>
  failures: ColumnType<Record<string, number>, string | undefined, string>
  after_id: string | null
  left_over: ColumnType<StoredLeftOver[], string | undefined, string>
  turns: Generated<number>
  worked_at: Time | null
  due_at: Time
  finished_at: Time | null
}
