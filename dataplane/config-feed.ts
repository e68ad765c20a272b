import type { Db } from '../core/db/db.ts'
import { changeHorizon, changesSince } from '../core/db/processes.ts'
import type { Logger } from '../core/log.ts'
import { followNotices, type ConfigChange } from '../core/stream/config-changes.ts'
import type { NatsConnection } from '../core/stream/nats.ts'
import { every } from './every.ts'

/** A missed notice is healed within 2 s. (architecture: Ingest) */
const POLL_MS = 1_000

export interface ConfigFeedDeps {
  db: Db
  nats: NatsConnection
  log: Logger
  /** What acknowledgements are signed with. */
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
  void followNotices(nats, deps.processId, forget)
  let since = await changeHorizon(db)
  // A long transaction of anybody's keeps the horizon where it is: what was told above it is not told again.
  let told = new Set<string>()
  const done = every(POLL_MS, { signal, log, name: 'configuration' }, async () => {
    const { horizon, changes } = await changesSince(db, since)
    const fresh = changes.filter(({ changeId }) => !told.has(changeId))
    if (fresh.length > 0) await forget(fresh)
    since = horizon
    told = new Set(changes.map(({ changeId }) => changeId))
  })
  return { done }
}
