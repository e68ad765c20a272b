import type { Parked } from '../../../core/db/deliveries/work/waiting.ts'
import { isByHand } from '../../../core/delivery/states.ts'
import { DESTINATION_CONCURRENCY_DEFAULT } from '../../../core/limits.ts'
import { dropLargeBody, isWhole, parkedOf, type WholeWork, type Work } from '../in-flight/work.ts'
import type { Destination } from '../send/destination.ts'
import { Alarm } from './alarm.ts'
import { Backlog, type LaneKey } from './backlog.ts'
import { BusyState } from './busy-state.ts'
import type { LaneDeps } from './lane-deps.ts'
import { LaneLoad } from './lane-load.ts'
import { LargeBodies } from './large-bodies.ts'
import { WorkQueue } from './work-queue.ts'

/** Rows taken back from PostgreSQL at once. */
const REFILL_MAX = 512

/** Work that has waited this long in memory goes to PostgreSQL: it must not outlive its lease (15 s). */
const QUEUED_MAX_MS = 5_000

/** A lane keeps up while the delivery at the head of its queue is younger than this. */
const KEEPS_UP_MS = 1_000

/** The stricter bound that applies before the pull of its partition is paused, which lasts no longer than this. */
const PAUSE_MS = KEEPS_UP_MS / 4

/** After this long its lease may be over and another may have it: only a process that was frozen comes to it. */
const STALE_MS = 8_000

/** How long before its time a paced delivery's large body is read. */
const READ_AHEAD_MS = 200

/** A wait for the pace up to this long stays in memory and is written with the result. (decisions: Delivery) */
const PACED_IN_MEMORY_MS = 1_000

/**
 * Everything that waits for one destination. Work comes from the stream and from due rows; it goes out in order, at
 * the destination's concurrency and pace. Modes, by the reason for which it waits:
 *   open      work goes out as it comes;
 *   paced     GCRA names the next moment: short waits stay in memory, longer ones are parked as `throttled`;
 *   busy      the endpoint answered 429, 502 or 504: all is parked until the time it named, then one probe goes,
 *             and each success doubles the concurrency up to the destination's own. Attempts by hand do not wait for
 *             that time: a person's go at once, those of an operation one at a time;
 *   cut off   its connector is offline or full: all is parked, attempts by hand too, until a session opens or a probe
 *             comes through;
 *   disabled  all is parked until the destination is enabled.
 * A lane that keeps up is spared the way through PostgreSQL: when it has ample work it pauses the pull of its partition
 * until it has room, which takes a quarter of a second at most.
 * When a change of plan has moved the destination to another partition, all is parked for the owner of that one.
 * While rows are parked, new work goes behind them and the lane refills from PostgreSQL, oldest first.
 */
export class Lane {
  readonly #deps: LaneDeps
  readonly #destinationId: string
  readonly #queue = new WorkQueue()
  readonly #largeBodies: LargeBodies
  readonly #backlog: Backlog
  #destination: Destination | undefined
  /** The last known one of a destination that is gone. */
  #partition: number
  #isClosed = false
  readonly #load: LaneLoad
  /** The stream gave it ample work, and it has not made room since. */
  #isFilled = false
  readonly #busyState: BusyState
  /** The last delivery that wanted to go had to wait for its pace. */
  #isPaced = false
  readonly #alarm = new Alarm(() => this.#pump())

  constructor(deps: LaneDeps, key: LaneKey, destination: Destination | undefined) {
    this.#deps = deps
    this.#destinationId = key.destinationId
    this.#destination = destination
    this.#partition = destination?.partition ?? key.partition
    this.#busyState = new BusyState(destination?.busy ?? null, (busy) =>
      deps.noteBusy(key.destinationId, busy),
    )
    this.#backlog = new Backlog(deps)
    this.#load = new LaneLoad(deps.allowances)
    this.#largeBodies = new LargeBodies(deps, this.#queue, {
      ahead: () => this.#ahead(),
      changed: () => this.#pump(),
    })
  }

  get partition(): number {
    return this.#partition
  }

  /** Undefined when its destination is gone. */
  get organisationId(): string | undefined {
    return this.#destination?.organisationId
  }

  /** Nothing waits in memory or is on its way there or to PostgreSQL; attempts may be under way. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#backlog.isStill
  }

  get isIdle(): boolean {
    const { isBusy, isCutOff } = this.#busyState
    const isBusyHere = isBusy && !isCutOff
    return this.isEmpty && this.#load.active === 0 && !this.#backlog.exists && !isBusyHere
  }

  get inMemory(): number {
    return this.#queue.length + this.#load.active
  }

  /** Nothing more should be taken from the stream for its partition now. */
  get pausesPull(): boolean {
    return this.#isFilled && !this.#queue.isScant && this.#keepsUpWithin(PAUSE_MS)
  }

  /** Takes work from anywhere but its own backlog. */
  admit(work: Work): void {
    const isOver = this.#load.isOver && work.attemptTrigger !== 'manual'
    this.#admit(work, isOver || (!work.isWaiting && (this.#backlog.exists || !this.#hasRoom)))
  }

  #admit(work: Work, goesBehind: boolean): void {
    const { inFlight } = this.#deps
    if (!inFlight.take(work)) {
      inFlight.abandon(work)
      return
    }
    if (!this.#isClosed) this.#load.add(work)
    if (this.#isWithdrawn(work)) return
    const standing = this.#deps.standingOf(work.hold)
    if (this.#isClosed || standing === 'lost') {
      inFlight.release(work)
    } else if (this.#destination === undefined || work.isOrphan) {
      void this.#deps.cancel(work)
    } else if (
      standing === 'leaving' ||
      !this.#destination.isEnabled ||
      this.#destination.partition !== work.partition
    ) {
      this.#park([work])
    } else if (goesBehind) {
      this.#park([work], this.#isPaced ? 'throttled' : 'pending')
    } else {
      this.#queue.push(work)
      if (!work.isWaiting && this.#queue.isAmple) this.#isFilled = true
      this.#pump()
    }
  }

  /** Some of what it holds was withdrawn. */
  dropWithdrawn(): void {
    this.#queue.drop((work) => this.#isWithdrawn(work))
    this.#pump()
  }

  /** The destination's settings changed; undefined when it was deleted. */
  configure(destination: Destination | undefined): void {
    const wasOff = this.#destination?.isEnabled !== true
    const hasMoved = destination !== undefined && destination.partition !== this.#partition
    const isResumed = destination?.resumedAtMs !== this.#destination?.resumedAtMs
    this.#destination = destination
    this.#partition = destination?.partition ?? this.#partition
    if (isResumed) this.#busyState.end()
    if (destination?.isEnabled !== true || hasMoved) this.#parkAll('pending')
    else if (wasOff || isResumed) this.#backlog.note()
    this.#pump()
  }

  /** PostgreSQL holds rows for this lane in a partition, which may be a former one. */
  noteParked(partition: number): void {
    if (this.#isClosed) return
    const isElsewhere = partition !== this.#partition && this.#destination !== undefined
    if (isElsewhere) void this.#backlog.move(this.#key, partition)
    else this.#backlog.note()
    this.#pump()
  }

  /** A connector has a session again. */
  noteOnline(connectorId: string): void {
    if (this.#destination?.connectorId !== connectorId) return
    this.#busyState.probe(this.#deps.clock.now())
    this.#pump()
  }

  /** Once a second: what has waited too long in memory is parked, and a stalled refill tried again. */
  tick(): void {
    this.#load.turn()
    this.#dropStale()
    const oldest = this.#queue.first
    if (oldest !== undefined && performance.now() - oldest.queuedAt > QUEUED_MAX_MS) {
      this.#parkAll(this.#isPaced ? 'throttled' : 'pending')
    }
    this.#pump()
  }

  /** Leaves what has not been sent to the next owner of its partition, by way of PostgreSQL. */
  handOver(): void {
    this.#parkAll(this.#isPaced ? 'throttled' : 'pending')
  }

  /** Gives back everything unsent, and everything that comes later. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#alarm[Symbol.dispose]()
    this.#release(this.#queue.drop())
    this.#load[Symbol.dispose]()
  }

  /** Whether the delivery is withdrawn and must not be sent. Its canceller writes the status; an orphan is cancelled here. */
  #isWithdrawn(work: Work): boolean {
    switch (this.#deps.withdrawals.stateOf(work)) {
      case 'kept':
        return false
      case 'let_go':
        this.#deps.inFlight.settle(work)
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
    const isLeftAlone = this.#busyState.isLeftAlone(nowMs)
    if (isLeftAlone) {
      const { isCutOff } = this.#busyState
      this.#parkAll('pending', (work) => isCutOff || !isByHand(work))
      this.#alarm.set(this.#busyState.untilMs, nowMs)
    }
    this.#dropStale()
    this.#sendFirst(destination, nowMs)
    this.#largeBodies.look()
    if (isLeftAlone) this.#refillByHand()
    else this.#refill()
    if (this.#isFilled && this.#queue.isScant) {
      this.#isFilled = false
      this.#deps.madeRoom(this.#partition)
    }
  }

  #sendFirst(destination: Destination, nowMs: number): void {
    const { pacer } = this.#deps
    for (let work = this.#queue.first; work !== undefined; work = this.#queue.first) {
      if (this.#load.active >= this.#concurrency(destination, work) || !this.#load.hasSocket) return
      // A delivery without its body takes no turn yet: pacing counts sent deliveries.
      const nextMs = isWhole(work)
        ? pacer.take(destination, nowMs)
        : pacer.capacity(destination, nowMs, 0).nextMs
      this.#isPaced = nextMs > nowMs
      if (this.#isPaced) this.#delayPaced(destination, nextMs, nowMs)
      if (this.#isPaced || !isWhole(work)) return
      this.#queue.shift()
      void this.#send(work, destination)
    }
  }

  /** How many may go out now, or in a moment. */
  #ahead(): number {
    const destination = this.#destination
    if (this.#isClosed || destination?.isEnabled !== true || !this.#load.hasSocket) return 0
    const nowMs = this.#deps.clock.now()
    const free = this.#concurrency(destination, this.#queue.first) - this.#load.active
    return Math.min(free, this.#deps.pacer.capacity(destination, nowMs, READ_AHEAD_MS).count)
  }

  /** Drops deliveries that this worker may not send: the owner of their partition has them or gets them. */
  #leaveOthers(): void {
    for (let first = this.#queue.first; first !== undefined; first = this.#queue.first) {
      const standing = this.#deps.standingOf(first.hold)
      if (standing === 'held') return
      if (standing === 'leaving') this.#parkAll('pending')
      else this.#release(this.#queue.drop(({ hold }) => hold === first.hold))
    }
  }

  /** Not parked either: that would take it from whoever has it now. */
  #dropStale(): void {
    const oldestAt = performance.now() - STALE_MS
    const first = this.#queue.first
    if (first === undefined || first.queuedAt >= oldestAt) return
    this.#release(this.#queue.drop(({ queuedAt }) => queuedAt < oldestAt))
  }

  #release(works: readonly Work[]): void {
    for (const work of works) this.#deps.inFlight.release(work)
  }

  /** A person who asks for an attempt does not wait until a busy destination is found ready. */
  #concurrency({ maxConcurrency }: Destination, work?: Work): number {
    const most = maxConcurrency ?? DESTINATION_CONCURRENCY_DEFAULT
    const isSpared = work?.attemptTrigger === 'manual' && !this.#busyState.isCutOff
    return isSpared ? most : this.#busyState.concurrency(most)
  }

  async #send(work: WholeWork, destination: Destination): Promise<void> {
    this.#load.begin()
    this.#deps.inFlight.begin(work)
    const startedAtMs = this.#deps.clock.now()
    const isCurrent = () => this.#destination?.resumedAtMs === destination.resumedAtMs
    const answered = await this.#deps.deliver(work, { destination, isCurrent })
    this.#load.end()
    dropLargeBody(work)
    if (isCurrent()) this.#busyState.learn(this.#deps.clock.now(), answered, startedAtMs)
    if (answered.busy !== null) this.#backlog.note()
    if (answered.held !== undefined) this.#park([work])
    this.#pump()
  }

  #delayPaced(destination: Destination, nextMs: number, nowMs: number): void {
    const { count } = this.#deps.pacer.capacity(destination, nowMs, PACED_IN_MEMORY_MS)
    const beyond = this.#queue.drop((_, place) => place >= count)
    if (beyond.length > 0) this.#park(beyond, 'throttled')
    this.#notePaced(this.#queue)
    for (const work of this.#queue) work.throttled ??= { atMs: nowMs, isStored: false }
    const readMs = nextMs - READ_AHEAD_MS
    this.#alarm.set(this.#queue.bodiless > 0 && readMs > nowMs ? readMs : nextMs, nowMs)
  }

  #notePaced(works: Iterable<Work>): void {
    let fresh = 0
    for (const { throttled } of works) if (throttled === null) fresh++
    if (fresh > 0) this.#deps.notePaced(fresh)
  }

  #parkAll(status: Parked['status'], isSo?: (work: Work) => boolean): void {
    const works = this.#queue.drop(isSo)
    if (works.length > 0) this.#park(works, status)
  }

  #park(works: Work[], status: Parked['status'] = 'pending'): void {
    const lastError =
      this.#destination?.isEnabled === false ? 'destination_disabled' : this.#busyState.lastError
    const reason = { status, lastError, nowMs: this.#deps.clock.now() }
    const rows = works.map((work) => parkedOf(work, this.#partition, reason))
    if (status === 'throttled') this.#notePaced(works)
    void this.#backlog.add(rows).then(() => {
      // A deletion that was heard of meanwhile found neither the row nor the work.
      for (const work of works) if (!this.#isWithdrawn(work)) this.#deps.inFlight.settle(work)
      this.#pump()
      return undefined
    })
  }

  #refill(): void {
    if (!this.#backlog.mayClaim || !this.#queue.isLow) return
    const wanted = this.#refillLimit()
    const allowance = this.#load.bounds
    if (wanted <= 0 || allowance?.rowsFor(wanted) === 0) return
    void this.#claim((admit) => this.#backlog.claim(this.#key, { limit: wanted, allowance }, admit))
  }

  #refillByHand(): void {
    if (this.#busyState.isCutOff || !this.#backlog.mayClaimByHand) return
    if (this.#load.active > 0 || this.#queue.length > 0) return
    void this.#claim((admit) => this.#backlog.claimByHand(this.#key, admit))
  }

  async #claim(take: (admit: (work: Work) => void) => Promise<void>): Promise<void> {
    {
      using _claim = this.#deps.inFlight.claiming()
      await take((work) => this.#admit(work, false))
    }
    this.#pump()
  }

  /** As much as goes out in the next seconds: claimed rows must be sent before their lease ends. */
  #refillLimit(): number {
    const destination = this.#destination
    if (destination === undefined) return REFILL_MAX
    if (!this.#load.hasSocket) return 0
    if (this.#busyState.isBusy) return this.#load.active === 0 && this.#queue.length === 0 ? 1 : 0
    const nowMs = this.#deps.clock.now()
    const pace = this.#deps.pacer.capacity(destination, nowMs, PACED_IN_MEMORY_MS)
    if (pace.count === 0) this.#alarm.set(pace.nextMs, nowMs)
    const speed = this.#concurrency(destination) + this.#load.expected
    const wanted = Math.min(pace.count, speed)
    const room = wanted - this.#queue.length
    // A claim of one row costs as much as a claim of many.
    return room < wanted / 2 ? 0 : Math.min(REFILL_MAX, room)
  }

  get #hasRoom(): boolean {
    return !this.#queue.isFull || (this.#keepsUpWithin(KEEPS_UP_MS) && !this.#queue.isOverfull)
  }

  #keepsUpWithin(ms: number): boolean {
    const sinceMs = performance.now() - (this.#queue.first?.queuedAt ?? 0)
    return !this.#isPaced && !this.#busyState.isBusy && sinceMs < ms
  }

  get #key(): LaneKey {
    return { destinationId: this.#destinationId, partition: this.#partition }
  }
}
