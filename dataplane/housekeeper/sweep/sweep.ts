import type { JetStreamManager } from '@nats-io/jetstream'

import type { Clock } from '../../../core/clock.ts'
import type { Db, Pool } from '../../../core/db/connection/db.ts'
import {
  findOpen,
  firstWatermark,
  moveToWaiting,
  readWatermark,
  sweptUntil,
  walkFrom,
  writeWatermark,
  type OpenDelivery,
} from '../../../core/db/deliveries/upkeep/sweep.ts'
import { partitionOf } from '../../../core/delivery/partition-of.ts'
import { firstIdAt, timeOfId } from '../../../core/ids.ts'
import { findLines, type Line } from '../../../core/jetstream/delivery-backlog.ts'
import { deleteDeliveryConsumer } from '../../../core/jetstream/delivery-stream.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { wakeWorkers } from '../../../core/notices/wake.ts'
import { entitlementsOf, isPaced, type Plans } from '../../../core/plans/plans.ts'
import { Lines } from './lines.ts'

/** A walk that takes longer goes on in the next pass. */
const PASS_MS = 200

/** Pause after a walk of several passes, as a multiple of its time: a long queue costs at most a tenth of a core. */
const RESTS = 9
const REST_MAX_MS = 30_000

/**
 * How far one statement looks: twice as far after a quick one, half as far after a slow one. After days without a
 * housekeeper one over all of them would run into its time-out again and again (12 million deliveries take 12 s).
 */
const SPAN_MIN_MS = 1_000
const SPAN_FIRST_MS = 60_000
const SPAN_MAX_MS = 600_000
const QUICK_MS = 50
const SLOW_MS = 500

export interface SweepDeps {
  pool: Pool
  db: Db
  nats: NatsConnection
  manager: JetStreamManager
  clock: Clock
  log: Logger
  plans: Plans
}

interface Walk {
  fromId: string
  /** The first that stays as it is: the watermark goes no further. */
  heldId: string | undefined
  tookMs: number
}

/**
 * Finds first attempts whose message was lost (a process died between commit and publish, NATS refused or forgot it,
 * a worker died with it) and makes them due. This is the only recovery path: every other waiting delivery has a row with a
 * time. Deliveries that queue in the stream stay there and do not keep the rest waiting.
 */
export class Sweep {
  readonly #deps: SweepDeps
  readonly #lines = new Lines()
  /** Where the last pass left it. */
  #watermark: string | undefined
  #moved = 0
  /** Not at its end yet. */
  #walk: Walk | undefined
  /** On the monotonic clock. */
  #restUntil = 0
  #spanMs = SPAN_FIRST_MS

  constructor(deps: SweepDeps) {
    this.#deps = deps
  }

  /** Lost deliveries that were made due. */
  get moved(): number {
    return this.#moved
  }

  /** How far behind the walk is; undefined before the first. */
  lagMs(): number | undefined {
    if (this.#watermark === undefined) return undefined
    const untilMs = timeOfId(sweptUntil(this.#deps.clock.now()))
    return Math.max(0, untilMs - timeOfId(this.#watermark))
  }

  /** Whether there are first attempts to look after. */
  async pass(): Promise<boolean> {
    // First: deliveries that are made while it is too high would be below it for good.
    const watermark = await heldWatermark(this.#deps)
    const isKnown = watermark === this.#watermark
    if (isKnown && performance.now() < this.#restUntil) return true
    const former = isKnown ? this.#walk : undefined
    const walk = former ?? { fromId: watermark, heldId: undefined, tookMs: 0 }
    const inLine = await this.#standingInLine()
    const startedAt = performance.now()
    let isOver = false
    while (!isOver && performance.now() - startedAt < PASS_MS)
      isOver = await this.#step(walk, inLine)
    walk.tookMs += performance.now() - startedAt
    const reached = walk.heldId ?? walk.fromId
    if (reached !== watermark) await writeWatermark(this.#deps.db, reached)
    this.#watermark = reached
    this.#walk = isOver ? undefined : walk
    const restMs = isOver && former ? Math.min(walk.tookMs * RESTS, REST_MAX_MS) : 0
    this.#restUntil = performance.now() + restMs
    return !isOver || walk.heldId !== undefined || inLine.size > 0
  }

  /** True at the end of the walk. */
  async #step(walk: Walk, inLine: ReadonlySet<number>): Promise<boolean> {
    const { clock, plans } = this.#deps
    const nowMs = clock.now()
    const lastId = sweptUntil(nowMs)
    if (lastId <= walk.fromId) return true
    const farId = firstIdAt(timeOfId(walk.fromId) + this.#spanMs)
    const untilId = farId < lastId ? farId : lastId
    const { open, endId } = await this.#find({ fromId: walk.fromId, untilId }, untilId === farId)
    const placed = open.map((one) => ({ ...one, partition: homeOf(plans, one) }))
    const isLost = (one: (typeof placed)[number]): boolean =>
      one.leaseUntil.getTime() <= nowMs && !inLine.has(one.partition)
    const lost = placed.filter(isLost)
    const moved = await this.#move(lost, nowMs)
    // A delivery that a worker has just claimed is checked again later.
    walk.heldId ??= (
      moved < lost.length ? placed : placed.filter((one) => !isLost(one))
    )[0]?.deliveryId
    walk.fromId = endId
    return endId === lastId
  }

  /** Partitions to skip, because their deliveries queue in the stream. A consumer that gives its worker none has lost them. */
  async #standingInLine(): Promise<ReadonlySet<number>> {
    const { manager, log } = this.#deps
    const lines = await linesOf(this.#deps)
    const stuck = this.#lines.note(lines, performance.now())
    for (const partition of stuck) {
      log.warn({ partition }, 'A consumer of the stream gives no messages: deleting it')
      try {
        await deleteDeliveryConsumer(manager, partition)
      } catch (err) {
        log.warn({ err, partition }, 'Cannot delete a consumer')
      }
    }
    return new Set(lines.map(({ partition }) => partition).filter((one) => !stuck.has(one)))
  }

  async #move(lost: (OpenDelivery & { partition: number })[], nowMs: number): Promise<number> {
    if (lost.length === 0) return 0
    const { pool, nats, log } = this.#deps
    const moved = await moveToWaiting(pool, lost, nowMs)
    this.#moved += moved
    if (moved > 0) log.info({ moved }, 'Made lost deliveries due')
    wakeWorkers(nats)
    return moved
  }

  async #find(
    ids: Parameters<typeof findOpen>[1],
    isWholeSpan: boolean,
  ): ReturnType<typeof findOpen> {
    const startedAt = performance.now()
    const shorter = Math.max(SPAN_MIN_MS, this.#spanMs / 2)
    try {
      const found = await findOpen(this.#deps.pool, ids)
      const tookMs = performance.now() - startedAt
      if (tookMs > SLOW_MS) this.#spanMs = shorter
      else if (tookMs < QUICK_MS && isWholeSpan)
        this.#spanMs = Math.min(SPAN_MAX_MS, this.#spanMs * 2)
      return found
    } catch (error) {
      this.#spanMs = shorter
      throw error
    }
  }
}

function homeOf(plans: Plans, one: OpenDelivery): number {
  const paced = isPaced(entitlementsOf(plans, one.plan, one.overrides))
  return partitionOf(one.organisationId, one.destinationId, paced)
}

async function heldWatermark({ db, clock, log }: SweepDeps): Promise<string> {
  const nowMs = clock.now()
  const kept = await readWatermark(db)
  const watermark = kept === firstIdAt(0) ? await firstWatermark(db, nowMs) : kept
  const from = walkFrom(watermark, nowMs)
  if (from !== watermark) log.warn('The clock was set back: looking for lost deliveries again')
  if (from !== kept) await writeWatermark(db, from)
  return from
}

async function linesOf({ manager, clock }: SweepDeps): Promise<Line[]> {
  try {
    return await findLines(manager, clock.now())
  } catch {
    // No stream, no message in line: NATS is away or lost its store, which is what the sweep is for.
    return []
  }
}
