import { newId } from '../../ids.ts'
import type { Db } from '../connection/db.ts'

/** Who changed what, and how; secrets never get here. (decisions: Resources, "an audit row") */
export interface AuditEntry {
  organisationId: string
  projectId: string | null
  /** `key:key_…`, or `admin` for the command line. */
  actor: string
  /** `<kind>.<verb>`. */
  action: string
  subjectKind: string
  subjectId: string
  changes: Record<string, unknown>
}

/** To be called in the transaction of the change itself, so that neither exists without the other. */
export async function writeAudit(db: Db, entry: AuditEntry, nowMs: number): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      id: newId(nowMs),
      organisation_id: entry.organisationId,
      project_id: entry.projectId,
      actor: entry.actor,
      action: entry.action,
      subject_kind: entry.subjectKind,
      subject_id: entry.subjectId,
      changes: JSON.stringify(entry.changes),
      at: new Date(nowMs),
    })
    .execute()
}
