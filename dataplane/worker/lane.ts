import type { Clock } from '../../core/clock.ts'
import type { Hold } from '../../core/db/partition-owners.ts'
import type { Parked } from '../../core/db/waiting.ts'
import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import type { Destination } from './destinations.ts'
import type { Pacer } from './pacer.ts'
import type { Standing } from './partitions.ts'
import type { Withdrawals } from './withdrawals.ts'
import { parkedOf, type Work } from './work.ts'

/** Work held in memory for one destination. What exceeds it waits in PostgreSQL. */
const WINDOW = 1_024

/** Rows taken back from PostgreSQL at once, and the level below which more are taken: the next come while these go. */
const REFILL_MAX = 512
const REFILL_BELOW = 512

/** Work that has waited this long in memory goes to PostgreSQL: it must not outlive its lease (15 s). */
const QUEUED_MAX_MS = 5_000

/** After this long its lease may be over and another may have it: only a process that was frozen comes to it. */
const STALE_MS = 8_000

/** A hold by pacing up to this long stays in memory and is written with the result. (decisions: Delivery) */
const HELD_IN_MEMORY_MS = 1_000

export interface LaneDeps {
  clock: Clock
  log: Logger
  pacer: Pacer
  /** Attempts the work and records what came of it. Resolves with the time until which the destination is busy. */
  deliver(work: Work, destination: Destination): Promise<{ busyUntilMs: number | null }>
  withdrawals: Withdrawals
  /** What is to become of work that was taken under a hold. */
  standingOf(hold: Hold): Standing
  park(rows: Parked[]): Promise<void>
  cancel(work: Work): Promise<void>
  /** Nothing when the partition is not this worker's. */
  claimParked(lane: LaneKey, limit: number): Promise<Work[]>
  /** Hands parked rows over from one partition to that of the lane. */
  moveParked(lane: LaneKey, from: number): Promise<void>
}

/** A destination and the partition whose owner sends to it. */
export interface LaneKey {
  destinationId: string
  partition: number
}

/**
 * Everything that waits for one destination. Work comes from the stream and from due rows; it goes out in order, at
 * the destination's concurrency and pace. Modes, by what holds the lane:
 *   open      work goes out as it comes;
 *   paced     GCRA names the next moment: short holds stay in memory, longer ones are parked as `throttled`;
 *   busy      the endpoint answered 429, 502 or 504: all is parked until the time it named, then one probe goes,
 *             and each success doubles the concurrency up to the destination's own;
 *   disabled  all is parked until the destination is enabled.
 * When a change of plan has moved the destination to another partition, all is parked for the owner of that one.
 * While rows are parked, new work goes behind them and the lane refills from PostgreSQL, oldest first.
 */
export class Lane {
  readonly #deps: LaneDeps
  readonly #destinationId: string
  readonly #queue: Work[] = []
  #destination: Destination | undefined
  /** The last known one of a destination that is gone. */
  #partition: number
  #isClosed = false
  #isMoving = false
  #active = 0
  /** How many rows are being parked now, and whether PostgreSQL may hold some. */
  #parking = 0
  #hasParked = false
  /** Writes of parked rows that were made, to tell a claim that began before one of them. */
  #parks = 0
  /** The last claim took all that was there: only rows that are being parked now can follow. */
  #isDry = false
  #isRefilling = false
  #busyUntilMs = 0
  #isBusy = false
  /** Concurrency while the lane recovers from being busy. */
  #ramp = Number.POSITIVE_INFINITY
  /** The last that wanted to go was held by pacing. */
  #isPaced = false
  #wakeAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #completedRecently = 0
  #completedBefore = 0

  constructor(deps: LaneDeps, key: LaneKey, destination: Destination | undefined) {
    this.#deps = deps
    this.#destinationId = key.destinationId
    this.#destination = destination
    this.#partition = destination?.partition ?? key.partition
  }

  get partition(): number {
    return this.#partition
  }

  /** Nothing waits in memory or is on its way there or to PostgreSQL; attempts may be under way. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#parking === 0 && !this.#isRefilling && !this.#isMoving
  }

  get isIdle(): boolean {
    return this.isEmpty && this.#active === 0 && !this.#hasParked && !this.#isBusy
  }

  get held(): number {
    return this.#queue.length + this.#active
  }

  admit(work: Work): void {
    if (this.#isWithdrawn(work)) return
    const standing = this.#deps.standingOf(work.hold)
    if (this.#isClosed || standing === 'lost') {
      work.release()
    } else if (this.#destination === undefined || work.isOrphan) {
      void this.#deps.cancel(work)
    } else if (
      standing === 'leaving' ||
      !this.#destination.isEnabled ||
      this.#destination.partition !== work.partition
    ) {
      this.#park([work])
    } else if (!work.isWaiting && (this.#hasParked || this.#queue.length >= WINDOW)) {
      this.#park([work], this.#isPaced ? 'throttled' : 'pending')
    } else {
      work.queuedAt = performance.now()
      this.#queue.push(work)
      this.#pump()
    }
  }

  /** Some of what it holds was withdrawn. */
  dropWithdrawn(): void {
    const kept = this.#queue.filter((work) => !this.#isWithdrawn(work))
    this.#queue.splice(0, this.#queue.length, ...kept)
    this.#pump()
  }

  /** The destination's settings changed; undefined when it was deleted. */
  configure(destination: Destination | undefined): void {
    const wasOff = this.#destination?.isEnabled !== true
    const hasMoved = destination !== undefined && destination.partition !== this.#partition
    this.#destination = destination
    this.#partition = destination?.partition ?? this.#partition
    if (destination?.isEnabled !== true || hasMoved) this.#parkAll('pending')
    else if (wasOff) this.#hasParked = true
    this.#pump()
  }

  /** PostgreSQL holds rows for this lane, the oldest of them in a partition. */
  noteParked(partition: number): void {
    if (this.#isClosed) return
    if (partition !== this.#partition && this.#destination !== undefined) void this.#move(partition)
    else this.#hasParked = true
    this.#pump()
  }

  /** Once a second: what has waited too long in memory is parked, and a stalled refill tried again. */
  tick(): void {
    this.#completedBefore = this.#completedRecently
    this.#completedRecently = 0
    this.#dropStale()
    const oldest = this.#queue[0]
    if (oldest !== undefined && performance.now() - oldest.queuedAt > QUEUED_MAX_MS) {
      this.#parkAll(this.#isPaced ? 'throttled' : 'pending')
    }
    this.#pump()
  }

  /** Leaves what has not been sent to the next owner of its partition, by way of PostgreSQL. */
  handOver(): void {
    this.#parkAll(this.#isPaced ? 'throttled' : 'pending')
  }

  /** What comes from now on is given back, as is what has not been sent. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const work of this.#queue.splice(0)) work.release()
  }

  /** What is withdrawn is not sent: whoever cancels a delivery writes so, an orphan is cancelled here. */
  #isWithdrawn(work: Work): boolean {
    switch (this.#deps.withdrawals.stateOf(work)) {
      case 'kept':
        return false
      case 'let_go':
        work.settle()
        return true
      case 'orphaned':
        void this.#deps.cancel(work)
        return true
    }
  }

  #pump(): void {
    if (this.#isClosed) return
    this.#leaveOthers()
    const destination = this.#destination
    if (destination === undefined || !destination.isEnabled) {
      if (destination === undefined) this.#refill()
      return
    }
    const nowMs = this.#deps.clock.now()
    if (this.#isBusy && nowMs < this.#busyUntilMs) {
      this.#parkAll('pending')
      this.#wakeAt(this.#busyUntilMs, nowMs)
      return
    }
    this.#dropStale()
    while (this.#queue.length > 0 && this.#active < this.#concurrency(destination)) {
      const nextMs = this.#deps.pacer.take(destination, nowMs)
      this.#isPaced = nextMs > nowMs
      if (this.#isPaced) {
        this.#hold(destination, nextMs, nowMs)
        break
      }
      const work = this.#queue.shift()
      if (work !== undefined) void this.#send(work, destination)
    }
    this.#refill()
  }

  /** What this worker may not send: whoever has its partition now has it, or gets it. */
  #leaveOthers(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const standing = this.#deps.standingOf(first.hold)
      if (standing === 'held') return
      if (standing === 'leaving') this.#parkAll('pending')
      else this.#queue.shift()?.release()
    }
  }

  /** Not parked either: that would take it from whoever has it now. */
  #dropStale(): void {
    const oldestAt = performance.now() - STALE_MS
    while (this.#queue[0] !== undefined && this.#queue[0].queuedAt < oldestAt) {
      this.#queue.shift()?.release()
    }
  }

  #concurrency(destination: Destination): number {
    if (this.#isBusy) return 1
    return Math.min(this.#ramp, destination.maxConcurrency ?? DESTINATION_CONCURRENCY_DEFAULT)
  }

  async #send(work: Work, destination: Destination): Promise<void> {
    this.#active++
    const { busyUntilMs } = await this.#deps.deliver(work, destination)
    this.#active--
    this.#completedRecently++
    if (busyUntilMs !== null) {
      this.#isBusy = true
      this.#ramp = 1
      this.#busyUntilMs = busyUntilMs
      this.#hasParked = true
    } else if (!this.#isBusy || this.#deps.clock.now() >= this.#busyUntilMs) {
      // Only a probe ends the busy state: what was under way when it began says nothing about now.
      this.#isBusy = false
      this.#ramp = this.#ramp >= WINDOW ? Number.POSITIVE_INFINITY : this.#ramp * 2
    }
    this.#pump()
  }

  #hold(destination: Destination, nextMs: number, nowMs: number): void {
    const { count } = this.#deps.pacer.capacity(destination, nowMs, HELD_IN_MEMORY_MS)
    if (this.#queue.length > count) this.#park(this.#queue.splice(count), 'throttled')
    for (const work of this.#queue) work.throttledAtMs ??= nowMs
    this.#wakeAt(nextMs, nowMs)
  }

  /** One timer a lane, at most a second long, so that a shifted clock is noticed. */
  #wakeAt(atMs: number, nowMs: number): void {
    if (this.#timer !== undefined && this.#wakeAtMs <= atMs) return
    clearTimeout(this.#timer)
    this.#wakeAtMs = atMs
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#pump()
      },
      Math.min(Math.max(atMs - nowMs, 1), 1_000),
    )
  }

  #parkAll(status: Parked['status']): void {
    if (this.#queue.length > 0) this.#park(this.#queue.splice(0), status)
  }

  #park(works: Work[], status: Parked['status'] = 'pending'): void {
    this.#hasParked = true
    this.#parking += works.length
    const nowMs = this.#deps.clock.now()
    const partition = this.#partition
    const lastError = this.#destination?.isEnabled === false ? 'destination_disabled' : null
    const rows = works.map((work) => ({
      ...parkedOf(work, {
        status,
        throttledAtMs: status === 'throttled' ? (work.throttledAtMs ?? nowMs) : work.throttledAtMs,
        lastError,
      }),
      partition,
    }))
    void this.#deps.park(rows).then(() => {
      this.#parking -= works.length
      this.#parks++
      this.#isDry = false
      for (const work of works) work.settle()
      this.#pump()
      return undefined
    })
  }

  #refill(): void {
    const room = this.#queue.length < REFILL_BELOW
    if (!this.#hasParked || this.#isRefilling || this.#isDry || !room) return
    const limit = this.#refillLimit()
    if (limit > 0) void this.#claim(limit)
  }

  /** As much as goes out in the next seconds: claimed rows must be sent before their lease ends. */
  #refillLimit(): number {
    const destination = this.#destination
    if (destination === undefined) return REFILL_MAX
    if (this.#isBusy) return this.#active === 0 && this.#queue.length === 0 ? 1 : 0
    const nowMs = this.#deps.clock.now()
    const pace = this.#deps.pacer.capacity(destination, nowMs, HELD_IN_MEMORY_MS)
    if (pace.count === 0) this.#wakeAt(pace.nextMs, nowMs)
    const speed =
      this.#concurrency(destination) + 2 * this.#completedBefore + this.#completedRecently
    return Math.min(REFILL_MAX, pace.count - this.#queue.length, speed)
  }

  get #key(): LaneKey {
    return { destinationId: this.#destinationId, partition: this.#partition }
  }

  async #move(from: number): Promise<void> {
    if (this.#isMoving) return
    this.#isMoving = true
    try {
      await this.#deps.moveParked(this.#key, from)
    } catch (err) {
      this.#deps.log.warn({ err }, 'Cannot move parked deliveries')
    }
    this.#isMoving = false
  }

  async #claim(limit: number): Promise<void> {
    this.#isRefilling = true
    try {
      const parksBefore = this.#parks
      const works = await this.#deps.claimParked(this.#key, limit)
      if (works.length < limit && this.#parks === parksBefore) {
        this.#isDry = this.#parking > 0
        this.#hasParked = this.#isDry
      }
      for (const work of works) this.admit(work)
    } catch (err) {
      // The next scan for parked rows tries again.
      this.#hasParked = false
      this.#deps.log.warn({ err }, 'Cannot take parked deliveries')
    }
    this.#isRefilling = false
    this.#pump()
  }
}
