import type { Db } from '../core/db/connection/db.ts'
import { changeHorizon, changesSince, type ChangedRow } from '../core/db/processes/processes.ts'
import type { Logger } from '../core/log.ts'
import type { NatsConnection } from '../core/nats.ts'
import { followNotices, type ConfigChange } from '../core/notices/config-changes.ts'
import { every } from './every.ts'

/** A missed notice is healed within 2 s. (architecture: Ingest) */
const POLL_MS = 1_000

export interface ConfigFeedDeps {
  db: Db
  nats: NatsConnection
  log: Logger
  /** Signs the acknowledgements of notices. */
  processId: string
  signal: AbortSignal
}

/**
 * Hears of every change of configuration: at once by notice, and from the change table for notices that were lost.
 * Resolves when it listens; from then on nothing that is read afterwards can be stale for longer than the poll.
 */
export async function followConfig(
  deps: ConfigFeedDeps,
  forget: (changes: readonly ConfigChange[]) => void | Promise<void>,
): Promise<{ done: Promise<void> }> {
  const { db, nats, log, signal } = deps
  void followNotices(nats, deps, forget)
  const before = await changesSince(db, await changeHorizon(db))
  let since = before.horizon
  // A long transaction of anybody's keeps the horizon where it is: what is known above it is not told again.
  let known = idsOf(before.changes)
  const done = every(POLL_MS, { signal, log, name: 'configuration' }, async () => {
    const { horizon, changes } = await changesSince(db, since)
    const fresh = changes.filter(({ changeId }) => !known.has(changeId))
    if (fresh.length > 0) await forget(fresh)
    since = horizon
    known = idsOf(changes)
  })
  return { done }
}

function idsOf(changes: readonly ChangedRow[]): Set<string> {
  return new Set(changes.map(({ changeId }) => changeId))
}
