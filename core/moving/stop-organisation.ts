import { setTimeout as sleep } from 'node:timers/promises'

import type { Clock } from '../clock.ts'
import type { Db } from '../db/connection/db.ts'
import { hasUnderWay, setState } from '../db/moving/organisation-states.ts'
import type { Actor } from '../db/requests/audit.ts'

/** By then every process has read the change: each looks once a second. */
const FOLLOWED_MS = 5_000

/** An attempt lasts 60 s at most; a delivery of a worker that died is swept 20 s later. */
const QUIET_MAX_MS = 120_000
const LOOK_MS = 500

export interface StopDeps {
  db: Db
  clock: Clock
  actor: Actor
}

/**
 * Stops the deliveries of an organisation, and with `closed` the taking of events too. Returns when every process has followed
 * and no attempt is under way; false when that takes too long.
 */
export async function stopOrganisation(
  { db, clock, actor }: StopDeps,
  organisationId: string,
  state: 'stopped' | 'closed',
): Promise<boolean> {
  await setState(db, organisationId, { state, actor, nowMs: clock.now() })
  await sleep(FOLLOWED_MS)
  const beforeMs = clock.now()
  const endsAt = performance.now() + QUIET_MAX_MS
  while (await hasUnderWay(db, organisationId, beforeMs)) {
    if (performance.now() > endsAt) return false
    await sleep(LOOK_MS)
  }
  return true
}
