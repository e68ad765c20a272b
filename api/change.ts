import { writeAudit } from '../core/db/audit.ts'
import type { Db } from '../core/db/db.ts'
import { refersToDeleted, violates } from '../core/db/failures.ts'
import { refuse } from '../core/errors.ts'
import type { Deps } from './deps.ts'
import type { Principal } from './principal.ts'

/** One change for the audit; the time is added here. */
export interface Change {
  principal: Principal
  projectId: string
  kind: 'project' | 'source' | 'destination' | 'connection' | 'event' | 'delivery'
  verb: 'create' | 'update' | 'toggle' | 'delete' | 'replay' | 'retry'
  id: string
  /** Without secrets. */
  changes: Record<string, unknown>
}

/** To be called in the transaction of the change itself. */
export async function audit(tx: Db, { clock }: Deps, change: Change): Promise<void> {
  const entry = {
    organisationId: change.principal.organisationId,
    projectId: change.projectId,
    actor: change.principal.actor,
    action: `${change.kind}.${change.verb}`,
    subjectKind: change.kind,
    subjectId: change.id,
    changes: change.changes,
  }
  await writeAudit(tx, entry, clock.now())
}

/** Runs `work` in a transaction; a name that another row has is the client's conflict, not our failure. */
export async function transact<T>(
  { db }: Deps,
  { constraint, name }: { constraint: string; name: string | undefined },
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  try {
    return await db.transaction().execute(work)
  } catch (error) {
    if (violates(error, constraint)) refuse('CONFLICT', `Name "${name ?? ''}" is taken`)
    if (refersToDeleted(error)) refuse('NOT_FOUND', 'What this refers to was deleted meanwhile')
    throw error
  }
}
