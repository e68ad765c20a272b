import { setTimeout as sleep } from 'node:timers/promises'

import type { Pool } from '../../../core/db/connection/db.ts'
import {
  forgetWorker,
  holdPartitions,
  PARTITION_HELD_MS,
  releasePartitions,
  reportWorker,
  type Hold,
  type Member,
  type Report,
} from '../../../core/db/deliveries/work/partition-owners.ts'
import type { Logger } from '../../../core/log.ts'
import { isConnected, type NatsConnection } from '../../../core/nats.ts'
import { PARTITIONS_FREE } from '../../../core/notices/notice-subjects.ts'
import type { WorkerMetrics } from '../in-flight/metrics.ts'
import type { Holdings } from './holdings.ts'
import { shareOf } from './partition-assignment.ts'

const RENEW_MS = PARTITION_HELD_MS / 3

/**
 * After PostgreSQL was away nobody could renew, and after its clock was set ahead nobody seems to have: who comes first
 * leaves the others this long before it takes what expired.
 */
const AWAY_MS = 2 * RENEW_MS
const BACK_MS = PARTITION_HELD_MS

export interface PartitionsDeps {
  pool: Pool
  nats: NatsConnection
  log: Logger
  metrics: Pick<WorkerMetrics, 'partitions' | 'handovers'>
  member: Member
  holdings: Holdings
}

export interface PartitionsHooks {
  took(): void
  /** Ends all that is done for them, or leaves it so that another can go on. Then they are let go of. */
  handOver(holds: readonly Hold[]): Promise<void>
  /** Another has them. */
  lost(partitions: ReadonlySet<number>): void
}

/** Keeps this worker's share of the partitions, each under a lease with an epoch, among the workers that live. */
export class Partitions {
  readonly #deps: PartitionsDeps
  readonly #hooks: PartitionsHooks
  readonly #stop = new AbortController()
  readonly #notices: { unsubscribe(): void }
  #renewals: Promise<void> | undefined
  #wake = Promise.withResolvers<void>()
  /** Renewals succeed without a gap since then. */
  #steadySince = Number.NEGATIVE_INFINITY
  #renewedAt: number | undefined
  #isStopping = false

  constructor(deps: PartitionsDeps, hooks: PartitionsHooks) {
    this.#deps = deps
    this.#hooks = hooks
    this.#notices = deps.nats.subscribe(PARTITIONS_FREE, { callback: () => this.#wake.resolve() })
  }

  /** Takes part from now on. */
  start(): void {
    this.#renewals = this.#run()
  }

  /** Hands all partitions over. Resolves when the others may have them. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#wake.resolve()
    const endAt = performance.now() + withinMs
    const { holdings } = this.#deps
    while (holdings.partitions.length > 0 && performance.now() < endAt) await sleep(RENEW_MS / 100)
    this.#stop.abort()
    this.#wake.resolve()
    await this.#renewals
    this.#notices.unsubscribe()
    holdings.end()
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#wake = Promise.withResolvers<void>()
      try {
        await this.#renew()
      } catch (err) {
        this.#deps.log.warn({ err }, 'Cannot renew partitions')
      }
      const timer = setTimeout(() => this.#wake.resolve(), RENEW_MS)
      await this.#wake.promise
      clearTimeout(timer)
    }
  }

  async #renew(): Promise<void> {
    const { pool, member, holdings, metrics } = this.#deps
    await this.#release()
    const askedAt = performance.now()
    const report = await this.#report()
    const share = report === undefined ? [] : shareOf(member.name, report.names)
    const kept = holdings.partitions
    const sinceMs = askedAt - (this.#renewedAt ?? askedAt)
    if (Math.max(sinceMs, report?.reportedAgoMs ?? 0) > AWAY_MS) this.#steadySince = askedAt
    const wanted = share.filter((partition) => !kept.includes(partition))
    const holds = await holdPartitions(pool, member, {
      kept,
      wanted,
      withExpired: askedAt - this.#steadySince >= BACK_MS,
      withFormer: this.#renewedAt === undefined,
    })
    const isFirst = this.#renewedAt === undefined
    this.#renewedAt = askedAt
    const { taken, lost } = holdings.renew(holds, askedAt + PARTITION_HELD_MS)
    if (isFirst) this.#tell()
    this.#say(taken, lost)
    this.#handOver(holdings.leaveAllBut(new Set(share)))
    metrics.partitions.set(holdings.partitions.length)
  }

  /** Says that it lives, until it stops. */
  async #report(): Promise<Report | undefined> {
    const { pool, member } = this.#deps
    if (!this.#isStopping) return await reportWorker(pool, member)
    await forgetWorker(pool, member)
    return undefined
  }

  #say(taken: readonly Hold[], lost: ReadonlySet<number>): void {
    const { log, holdings } = this.#deps
    if (lost.size > 0) {
      log.warn({ partitions: [...lost] }, 'Lost partitions')
      this.#hooks.lost(lost)
    }
    if (taken.length > 0) {
      log.info({ taken: taken.length, held: holdings.partitions.length }, 'Took partitions')
      this.#hooks.took()
    }
  }

  #handOver(leaving: readonly Hold[]): void {
    if (leaving.length === 0) return
    const { log, holdings } = this.#deps
    this.#hooks
      .handOver(leaving)
      .catch((err: unknown) => log.warn({ err }, 'Partition hand-over failed'))
      .finally(() => {
        holdings.left(leaving)
        this.#wake.resolve()
      })
  }

  async #release(): Promise<void> {
    const { pool, member, metrics, log, holdings } = this.#deps
    const left = holdings.toRelease()
    if (left.length === 0) return
    await releasePartitions(pool, member, left)
    holdings.release(left)
    metrics.handovers.inc(left.length)
    log.info({ released: left.length, held: holdings.partitions.length }, 'Handed partitions over')
    this.#tell()
  }

  #tell(): void {
    if (isConnected(this.#deps.nats)) this.#deps.nats.publish(PARTITIONS_FREE)
  }
}
