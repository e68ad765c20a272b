import type { JetStreamManager } from '@nats-io/jetstream'

import type { Clock } from '../../core/clock.ts'
import type { Db, Pool } from '../../core/db/db.ts'
import {
  findOverdue,
  moveToWaiting,
  readWatermark,
  SWEEP_BATCH,
  walkFrom,
  writeWatermark,
} from '../../core/db/deliveries/sweep.ts'
import type { Logger } from '../../core/log.ts'
import { entitlementsOf, isPaced, type Plans } from '../../core/plans/plans.ts'
import { isBacklogged } from '../../core/stream/delivery-backlog.ts'
import { isConnected, type NatsConnection } from '../../core/stream/nats.ts'
import { partitionOf, WAITING_DUE } from '../../core/stream/subjects.ts'

export interface SweepDeps {
  pool: Pool
  db: Db
  nats: NatsConnection
  manager: JetStreamManager
  clock: Clock
  log: Logger
  plans: Plans
}

/**
 * Finds first attempts whose message was lost (a process died between commit and publish, NATS refused or forgot it,
 * a worker died with it) and makes them due. The one recovery path: everything else that waits has a row with a time.
 */
export async function sweepFirstAttempts(deps: SweepDeps): Promise<void> {
  // First: deliveries that are made while it is too high would be below it for good.
  let watermark = await heldWatermark(deps)
  if (await mayStandInLine(deps)) return
  for (;;) {
    const nowMs = deps.clock.now()
    const found = await findOverdue(deps.pool, watermark, nowMs)
    const overdue = found.overdue.map((row) => ({
      ...row,
      partition: partitionOf(
        row.organisationId,
        row.destinationId,
        isPaced(entitlementsOf(deps.plans, row.plan, row.overrides)),
      ),
    }))
    if (overdue.length > 0) {
      const moved = await moveToWaiting(deps.pool, overdue, nowMs)
      if (moved > 0) deps.log.info({ moved }, 'Dispatching lost deliveries again')
      if (isConnected(deps.nats)) deps.nats.publish(WAITING_DUE)
    }
    if (found.watermark !== watermark) await writeWatermark(deps.db, found.watermark)
    if (found.watermark === watermark || overdue.length < SWEEP_BATCH) return
    watermark = found.watermark
  }
}

async function heldWatermark({ db, clock, log }: SweepDeps): Promise<string> {
  const watermark = await readWatermark(db)
  const from = walkFrom(watermark, clock.now())
  if (from !== watermark) {
    log.warn('The clock was set back: looking for lost deliveries again')
    await writeWatermark(db, from)
  }
  return from
}

async function mayStandInLine({ manager, clock }: SweepDeps): Promise<boolean> {
  try {
    return await isBacklogged(manager, clock.now())
  } catch {
    // No stream, no message in line: NATS is away or lost its store, which is what the sweep is for.
    return false
  }
}
