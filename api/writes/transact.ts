import type { Db } from '../../core/db/connection/db.ts'
import { isPassing, refersToDeleted, violates } from '../../core/db/connection/failures.ts'
import { writeAudit } from '../../core/db/requests/audit.ts'
import { refuse } from '../../core/errors.ts'
import type { Principal } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'

/** A change for the audit; `audit` adds the time. */
export interface Change {
  principal: Principal
  projectId: string
  kind:
    | 'project'
    | 'source'
    | 'destination'
    | 'connection'
    | 'event'
    | 'delivery'
    | 'operation'
    | 'connector'
    | 'replica'
  verb:
    | 'create'
    | 'update'
    | 'toggle'
    | 'delete'
    | 'replay'
    | 'retry'
    | 'rotate-mask'
    | 'rotate-secret'
    | 'cancel-rotation'
    | 'reveal-signing-secret'
    | 'rotate-signing-secret'
    | 'test'
    | 'cancel'
    | 'regenerate-enrollment'
    | 'revoke'
  id: string
  /** Without secrets. */
  changes: Record<string, unknown>
}

/** Call it in the transaction of the change itself. */
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

/**
 * Runs `work` in a transaction; a name that another row has is the client's conflict, not our failure. With `tries`,
 * work that looks for the name first is run again: it then finds what another request has made meanwhile.
 */
export async function transact<T>(
  deps: Deps,
  taken: { constraint: string; name: string | undefined; tries?: number },
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  const { constraint, name, tries = 1 } = taken
  try {
    return await deps.db.transaction().execute(work)
  } catch (error) {
    const mayPass = violates(error, constraint) || isPassing(error)
    if (mayPass && tries > 1) return await transact(deps, { ...taken, tries: tries - 1 }, work)
    if (violates(error, constraint)) refuse('CONFLICT', `Name "${name ?? ''}" is taken`)
    if (refersToDeleted(error))
      refuse('NOT_FOUND', 'A resource that this refers to was just deleted')
    throw error
  }
}
