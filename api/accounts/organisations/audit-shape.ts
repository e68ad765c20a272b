import { timestamp } from '../../../core/clock.ts'
import type { AuditRow } from '../../../core/db/requests/audit.ts'
import { encodeId, type Prefix } from '../../../core/ids.ts'

const PREFIX_OF: Readonly<Record<string, Prefix>> = {
  organisation: 'org',
  user: 'usr',
  invitation: 'inv',
  api_key: 'key',
  agent: 'agt',
  project: 'prj',
  source: 'src',
  destination: 'dst',
  connection: 'con',
  connector: 'cnr',
  replica: 'rpl',
  event: 'evt',
  delivery: 'dlv',
  operation: 'opr',
}

/** A change as people read it: who, what, when, and what became of it, without secrets. */
export function viewAudit(row: AuditRow): Record<string, unknown> {
  const prefix = PREFIX_OF[row.subjectKind]
  return {
    id: row.id,
    at: timestamp(row.at.getTime()),
    actor: row.actor.name,
    actorName: row.actorName,
    address: row.actor.address,
    action: row.action,
    projectId: row.projectId === null ? null : encodeId('prj', row.projectId),
    subjectKind: row.subjectKind,
    subjectId: prefix === undefined ? row.subjectId : encodeId(prefix, row.subjectId),
    changes: row.changes,
  }
}
