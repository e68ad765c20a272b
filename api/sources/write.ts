import {
  findSource,
  SOURCE_NAME_TAKEN,
  updateSource,
  type ActiveSource,
} from '../../core/db/configuration/sources.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { refuseMissing } from '../http/failure.ts'
import type { Call } from '../http/route.ts'
import { audit, transact, type Change } from '../writes/transact.ts'

/** The changed source, and the change as the audit records it, without secrets. */
interface Written {
  row: ActiveSource
  shown: Record<string, unknown>
}

/** Writes what `change` makes of the locked source, with its audit row, and returns it when ingest knows. */
export async function writeSource<W extends Written>(
  { deps, principal, reach, params }: Call<{ id: string }>,
  { verb, name }: { verb: Change['verb']; name?: string | undefined },
  change: (found: ActiveSource, now: Date, tx: Db) => W | Promise<W>,
): Promise<W> {
  const done = await transact(deps, { constraint: SOURCE_NAME_TAKEN, name }, async (tx) => {
    const found =
      (await findSource(tx, reach, params.id, { lock: true })) ?? refuseMissing('src', params.id)
    const written = await change(found, new Date(deps.clock.now()), tx)
    await updateSource(tx, written.row)
    await audit(tx, deps, {
      principal,
      projectId: found.projectId,
      kind: 'source',
      verb,
      id: found.id,
      changes: written.shown,
    })
    return written
  })
  await announceChanges(deps, [{ kind: 'source', id: done.row.id }])
  return done
}
