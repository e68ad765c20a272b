import type { Generated } from 'kysely'

import type { Json, Time } from '../columns.ts'

export interface AlertTables {
  alert: {
    id: string
    organisation_id: string
    project_id: string | null
    type: string
    subject_id: string
    name: string
    level: number
    summary: string
    evidence: Json<Record<string, unknown>>
    opened_at: Time
    /** How often it has opened again since it was last told. */
    reopened: Generated<number>
    /** Since when the subject has been well, while that must still last. */
    well_since: Time | null
    closed_at: Time | null
    told_level: Generated<number>
    told_at: Time | null
    acknowledged_at: Time | null
    acknowledged_by: string | null
  }
  /** A notification of an alert. It has the id of the event that the webhook delivers. */
  alert_notification: {
    id: string
    alert_id: string
    type: string
    level: number
    at: Time
    delivery_id: string | null
    mails: Generated<number>
  }
  alert_mute: {
    organisation_id: string
    subject_id: string
    until: Time
    muted_by: string | null
  }
  /** The types that a person wants no mail of. */
  alert_mail_choice: {
    organisation_id: string
    person_id: string
    unwanted: Json<string[]>
  }
  /** Mails that no mail server has taken yet. */
  alert_mail: {
    id: string
    organisation_id: string
    person_id: string
    words: Json<{ subject: string; summary: string; advice: string | null; url: string }>
    due_at: Time
    tries: Generated<number>
  }
}
