import { setTimeout as sleep } from 'node:timers/promises'

import type { Clock } from '../../core/clock.ts'
import type { Pool } from '../../core/db/connection/db.ts'
import { releaseClaims } from '../../core/db/deliveries/work/parked-lanes.ts'
import type { Hold } from '../../core/db/deliveries/work/partition-owners.ts'
import { within } from '../../core/within.ts'
import type { InFlight } from './in-flight/in-flight.ts'
import type { Work } from './in-flight/work.ts'
import type { Lanes } from './lanes/lanes.ts'
import type { DueRows } from './take/due-rows.ts'
import type { StreamConsumer } from './take/stream-consumer.ts'

/** How long attempts under way may take to end: more than the second after which one is kept by its own row. */
export const HAND_OVER_MS = 2_500
const LOOK_MS = 10

export interface HandOverDeps {
  pool: Pool
  clock: Clock
  /** The name that claimed rows carry. */
  name: string
  lanes: Lanes
  streamConsumer: StreamConsumer
  inFlight: InFlight
  due: DueRows
  writePacing(): Promise<void>
}

/**
 * Leaves partitions so that their next owner can go on: what has not been sent waits in PostgreSQL, results and pacing
 * are written. Messages that still come go the same way: a server that is given one back for a consumer whose last
 * request has gone may keep it until its acknowledgement times out (seen with NATS 2.9). An attempt that lasts longer
 * ends here: the claim on its waiting row keeps the others away.
 */
export async function handOver(deps: HandOverDeps, holds: readonly Hold[]): Promise<void> {
  const { lanes, streamConsumer, inFlight } = deps
  const partitions = new Set(holds.map(({ partition }) => partition))
  const endAt = performance.now() + HAND_OVER_MS
  lanes.handOver(partitions)
  const nothingComes = Promise.all([streamConsumer.stop(partitions), deps.due.settled()])
  await within(HAND_OVER_MS / 2, nothingComes, () => undefined)
  const sending = (): Work[] =>
    [...inFlight.underWay].filter(({ hold }) => partitions.has(hold.partition))
  const isBusy = (): boolean => sending().length > 0 || !lanes.areEmpty(partitions)
  while (isBusy() && performance.now() < endAt) await sleep(LOOK_MS)
  const left = sending()
  for (const work of left) inFlight.handOver(work)
  await deps.writePacing()
  await releaseClaims(deps.pool, holds, {
    claimedBy: deps.name,
    nowMs: deps.clock.now(),
    except: left.map(({ deliveryId }) => deliveryId),
  })
  lanes.close(partitions)
}
