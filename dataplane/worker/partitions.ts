import { setTimeout as sleep } from 'node:timers/promises'

import type { Db, Pool } from '../../core/db/db.ts'
import {
  forgetWorker,
  holdPartitions,
  PARTITION_HELD_MS,
  releasePartitions,
  reportWorker,
  type Hold,
  type Member,
  type Report,
} from '../../core/db/deliveries/partition-owners.ts'
import { holdLease } from '../../core/db/processes/leases.ts'
import type { Logger } from '../../core/log.ts'
import { isConnected, type NatsConnection } from '../../core/stream/nats.ts'
import { PARTITIONS_FREE } from '../../core/stream/subjects.ts'
import type { WorkerMetrics } from './metrics.ts'
import { shareOf } from './shares.ts'

const RENEW_MS = PARTITION_HELD_MS / 3

/**
 * After PostgreSQL was away nobody could renew, and after its clock was set ahead nobody seems to have: who comes first
 * leaves the others this long before it takes what expired.
 */
const AWAY_MS = 2 * RENEW_MS
const BACK_MS = PARTITION_HELD_MS

/** A version whose one worker had all partitions knows this lease alone. All workers hold it as one. */
const FORMER_LEASE = 'worker'
const FORMER_LEASE_HOLDER = 'all workers'

export interface PartitionsDeps {
  pool: Pool
  db: Db
  nats: NatsConnection
  log: Logger
  metrics: Pick<WorkerMetrics, 'partitions' | 'handovers'>
  member: Member
}

/** Only under `held` it is sent; under `leaving` it is left behind in PostgreSQL, under `lost` another has it. */
export type Standing = 'held' | 'leaving' | 'lost'

export interface PartitionsHooks {
  took(): void
  /** Ends all that is done for them, or leaves it so that another can go on. Then they are let go of. */
  handOver(holds: readonly Hold[]): Promise<void>
  /** Another has them. */
  lost(partitions: ReadonlySet<number>): void
}

interface Held {
  hold: Hold
  /** `leaving` takes nothing new; `left` is to be released. */
  state: 'held' | 'leaving' | 'left'
}

/** The partitions that this worker owns, each under a lease with an epoch, shared out among the workers that live. */
export class Partitions {
  readonly #deps: PartitionsDeps
  readonly #hooks: PartitionsHooks
  readonly #held = new Map<number, Held>()
  readonly #stop = new AbortController()
  readonly #notices: { unsubscribe(): void }
  #renewals: Promise<void> | undefined
  #wake = Promise.withResolvers<void>()
  #heldUntil = 0
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

  /** Those it takes work for now. On the monotonic clock: a process that was frozen has none when it wakes up. */
  holds(): Hold[] {
    if (!this.isCurrent) return []
    return [...this.#held.values()].flatMap(({ hold, state }) => (state === 'held' ? [hold] : []))
  }

  holdOf(partition: number): Hold | undefined {
    const held = this.#held.get(partition)
    return this.isCurrent && held?.state === 'held' ? held.hold : undefined
  }

  /** The same, while it is being handed over too. */
  takenHoldOf(partition: number): Hold | undefined {
    return this.isCurrent ? this.#held.get(partition)?.hold : undefined
  }

  /** What is to become of work that was taken under a hold. */
  standingOf(hold: Hold): Standing {
    const held = this.#held.get(hold.partition)
    if (!this.isCurrent || held?.hold.epoch !== hold.epoch) return 'lost'
    return held.state === 'held' ? 'held' : 'leaving'
  }

  /** It can hold partitions: its last renewal is no older than a lease. One without any may stand by. */
  get isCurrent(): boolean {
    return performance.now() < this.#heldUntil
  }

  /** Hands all partitions over. Resolves when the others may have them. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#wake.resolve()
    const endAt = performance.now() + withinMs
    while (this.#held.size > 0 && performance.now() < endAt) await sleep(RENEW_MS / 100)
    this.#stop.abort()
    this.#wake.resolve()
    await this.#renewals
    this.#notices.unsubscribe()
    this.#heldUntil = 0
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
    const { pool, db, member } = this.#deps
    await this.#release()
    const askedAt = performance.now()
    // One of the version before may still have them all.
    const isFree = await holdLease(db, FORMER_LEASE, FORMER_LEASE_HOLDER)
    const report = isFree === undefined ? undefined : await this.#report()
    const share = report === undefined ? [] : shareOf(member.name, report.names)
    const kept = [...this.#held.keys()]
    const sinceMs = askedAt - (this.#renewedAt ?? askedAt)
    if (Math.max(sinceMs, report?.reportedAgoMs ?? 0) > AWAY_MS) this.#steadySince = askedAt
    const wanted = share.filter((partition) => !this.#held.has(partition))
    const holds = await holdPartitions(pool, member, {
      kept,
      wanted,
      withExpired: askedAt - this.#steadySince >= BACK_MS,
      withFormer: this.#renewedAt === undefined,
    })
    const isFirst = this.#renewedAt === undefined
    this.#renewedAt = askedAt
    this.#heldUntil = askedAt + PARTITION_HELD_MS
    if (isFirst) this.#tell()
    this.#apply(holds)
    const isMine = new Set(share)
    this.#handOver([...this.#held.values()].filter(({ hold }) => !isMine.has(hold.partition)))
    this.#deps.metrics.partitions.set(this.#held.size)
  }

  /** Says that it lives, until it stops. */
  async #report(): Promise<Report | undefined> {
    const { pool, member } = this.#deps
    if (!this.#isStopping) return await reportWorker(pool, member)
    await forgetWorker(pool, member)
    return undefined
  }

  #apply(holds: readonly Hold[]): void {
    const now = new Map(holds.map((hold) => [hold.partition, hold]))
    const lost = new Set<number>()
    for (const [partition, { hold }] of this.#held) {
      if (now.get(partition)?.epoch !== hold.epoch) lost.add(partition)
    }
    for (const partition of lost) this.#held.delete(partition)
    const taken = holds.filter(({ partition }) => !this.#held.has(partition))
    for (const hold of taken) this.#held.set(hold.partition, { hold, state: 'held' })
    if (lost.size > 0) {
      this.#deps.log.warn({ partitions: [...lost] }, 'Lost partitions')
      this.#hooks.lost(lost)
    }
    if (taken.length > 0) {
      this.#deps.log.info({ taken: taken.length, held: this.#held.size }, 'Took partitions')
      this.#hooks.took()
    }
  }

  #handOver(surplus: readonly Held[]): void {
    const leaving = surplus.filter((held) => held.state === 'held')
    if (leaving.length === 0) return
    for (const held of leaving) held.state = 'leaving'
    this.#hooks
      .handOver(leaving.map(({ hold }) => hold))
      .catch((err: unknown) => this.#deps.log.warn({ err }, 'Handed over in disorder'))
      .finally(() => {
        for (const held of leaving) held.state = 'left'
        this.#wake.resolve()
      })
  }

  async #release(): Promise<void> {
    const left = [...this.#held.values()].flatMap(({ hold, state }) =>
      state === 'left' ? [hold.partition] : [],
    )
    if (left.length === 0) return
    const { pool, member, metrics, log } = this.#deps
    await releasePartitions(pool, member, left)
    for (const partition of left) this.#held.delete(partition)
    metrics.handovers.inc(left.length)
    log.info({ released: left.length, held: this.#held.size }, 'Handed partitions over')
    this.#tell()
  }

  #tell(): void {
    if (isConnected(this.#deps.nats)) this.#deps.nats.publish(PARTITIONS_FREE)
  }
}
