import type { Db } from '../../../core/db/connection/db.ts'
import { deleteDeadSessions } from '../../../core/db/connectors/live-sessions.ts'
import { deleteOldAllowances } from '../../../core/db/connectors/public-limits.ts'
import { pruneReplicas } from '../../../core/db/connectors/replicas.ts'
import { REVOKED_TOKEN_DAYS, SILENT_REPLICA_DAYS } from '../../../core/limits.ts'

/** Drops what connectors leave behind: silent replicas, old tombstones, sessions of gateways that were killed. */
export async function pruneConnectors(db: Db, nowMs: number): Promise<void> {
  await pruneReplicas(db, nowMs, { silent: SILENT_REPLICA_DAYS, revoked: REVOKED_TOKEN_DAYS })
  await deleteDeadSessions(db)
  await deleteOldAllowances(db)
}
