import { Backoff } from '../watch/backoff.ts'

const FIRST_MS = 200
const MAX_MS = 300_000

/** `fresh` goes first: what somebody has just changed does not wait behind a thousand objects that are looked at again. */
export type Urgency = 'fresh' | 'later'

export interface QueueMetrics {
  added: () => void
  retried: () => void
  waited: (seconds: number) => void
}

export interface WorkQueueOptions {
  metrics?: QueueMetrics
  /** The lane of a key: keys of a lane wait for each other, and never for those of another lane. */
  laneOf?: (key: string) => string
  /** Keys of a lane in hand at once. */
  inLaneMax?: number
}

interface Lane {
  name: string
  /** Keys that wait, and since when. */
  fresh: Map<string, number>
  later: Map<string, number>
  inHand: number
}

/**
 * Keys to work on. A key waits once, however often it is added; it is in the hands of one worker at a time, and one that
 * is added meanwhile comes again afterwards. Lanes take turns.
 */
export class WorkQueue {
  /** In the order of their turns. */
  readonly #lanes = new Map<string, Lane>()
  /** The lanes of keys that wait or are in hand. */
  readonly #laneOfKey = new Map<string, Lane>()
  readonly #inHand = new Set<string>()
  readonly #again = new Map<string, Urgency>()
  readonly #timers = new Map<string, { at: number; timer: NodeJS.Timeout }>()
  readonly #backoffs = new Map<string, Backoff>()
  readonly #takers: (() => void)[] = []
  readonly #options: WorkQueueOptions
  #isClosed = false

  constructor(options: WorkQueueOptions = {}) {
    this.#options = options
  }

  get depth(): number {
    return this.#laneOfKey.size - this.#inHand.size
  }

  add(key: string, urgency: Urgency = 'fresh'): void {
    if (this.#isClosed) return
    if (this.#inHand.has(key)) {
      if (this.#again.get(key) !== 'fresh') this.#again.set(key, urgency)
      return
    }
    const lane = this.#laneOfKey.get(key) ?? this.#laneFor(key)
    if (lane.fresh.has(key)) return
    const since = lane.later.get(key)
    if (since !== undefined && urgency === 'later') return
    lane.later.delete(key)
    lane[urgency].set(key, since ?? performance.now())
    this.#laneOfKey.set(key, lane)
    this.#options.metrics?.added()
    this.#takers.shift()?.()
  }

  #laneFor(key: string): Lane {
    const name = this.#options.laneOf?.(key) ?? ''
    const found = this.#lanes.get(name)
    if (found !== undefined) return found
    const made: Lane = { name, fresh: new Map(), later: new Map(), inHand: 0 }
    this.#lanes.set(name, made)
    return made
  }

  /** The earlier of two times counts. */
  addAfter(key: string, ms: number): void {
    if (this.#isClosed) return
    const at = performance.now() + ms
    const set = this.#timers.get(key)
    if (set !== undefined && set.at <= at) return
    clearTimeout(set?.timer)
    const timer = setTimeout(() => {
      this.#timers.delete(key)
      this.add(key, 'later')
    }, ms)
    this.#timers.set(key, { at, timer })
  }

  /** After a failure: each one in a row waits twice as long. */
  addFailed(key: string, atLeastMs = 0): number {
    const backoff = this.#backoffs.get(key) ?? new Backoff({ firstMs: FIRST_MS, maxMs: MAX_MS })
    this.#backoffs.set(key, backoff)
    const ms = Math.max(backoff.next(), atLeastMs)
    this.#options.metrics?.retried()
    this.addAfter(key, ms)
    return ms
  }

  forget(key: string): void {
    this.#backoffs.delete(key)
  }

  /** The next key, or undefined once the queue is closed. Whoever has it calls `done`. */
  async take(): Promise<string | undefined> {
    for (;;) {
      if (this.#isClosed) return undefined
      const next = this.#next('fresh') ?? this.#next('later')
      if (next !== undefined) return next
      await new Promise<void>((resolve) => this.#takers.push(resolve))
    }
  }

  #next(urgency: Urgency): string | undefined {
    const { inLaneMax = Number.POSITIVE_INFINITY, metrics } = this.#options
    for (const lane of this.#lanes.values()) {
      const [next] = lane[urgency]
      if (next === undefined || lane.inHand >= inLaneMax) continue
      const [key, since] = next
      lane[urgency].delete(key)
      lane.inHand++
      // The other lanes come first now.
      this.#lanes.delete(lane.name)
      this.#lanes.set(lane.name, lane)
      this.#inHand.add(key)
      // Whoever looks now says anew when to look again.
      this.#forgetTimer(key)
      metrics?.waited((performance.now() - since) / 1_000)
      return key
    }
    return undefined
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer)
    this.#timers.delete(key)
  }

  done(key: string): void {
    this.#inHand.delete(key)
    const lane = this.#laneOfKey.get(key)
    this.#laneOfKey.delete(key)
    if (lane !== undefined) {
      lane.inHand--
      if (lane.inHand + lane.fresh.size + lane.later.size === 0) this.#lanes.delete(lane.name)
    }
    const urgency = this.#again.get(key)
    this.#again.delete(key)
    if (urgency !== undefined) this.add(key, urgency)
    // Another key of the lane may come.
    this.#takers.shift()?.()
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    for (const wake of this.#takers.splice(0)) wake()
  }
}
