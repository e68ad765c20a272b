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

/**
 * Keys to work on. A key waits once, however often it is added; it is in the hands of one worker at a time, and one that
 * is added meanwhile comes again afterwards.
 */
export class WorkQueue {
  readonly #waiting = { fresh: new Map<string, number>(), later: new Map<string, number>() }
  readonly #inHand = new Set<string>()
  readonly #again = new Map<string, Urgency>()
  readonly #timers = new Map<string, { at: number; timer: NodeJS.Timeout }>()
  readonly #backoffs = new Map<string, Backoff>()
  readonly #takers: (() => void)[] = []
  readonly #metrics: QueueMetrics | undefined
  #isClosed = false

  constructor(metrics?: QueueMetrics) {
    this.#metrics = metrics
  }

  get depth(): number {
    return this.#waiting.fresh.size + this.#waiting.later.size
  }

  add(key: string, urgency: Urgency = 'fresh'): void {
    if (this.#isClosed) return
    if (this.#inHand.has(key)) {
      if (this.#again.get(key) !== 'fresh') this.#again.set(key, urgency)
      return
    }
    const { fresh, later } = this.#waiting
    if (fresh.has(key)) return
    const since = later.get(key)
    if (since !== undefined && urgency === 'later') return
    later.delete(key)
    this.#waiting[urgency].set(key, since ?? performance.now())
    this.#metrics?.added()
    this.#takers.shift()?.()
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
    this.#metrics?.retried()
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
      const { fresh, later } = this.#waiting
      const from = fresh.size > 0 ? fresh : later
      const [next] = from
      if (next !== undefined) {
        from.delete(next[0])
        this.#inHand.add(next[0])
        // Whoever looks now says anew when to look again.
        this.#forgetTimer(next[0])
        this.#metrics?.waited((performance.now() - next[1]) / 1_000)
        return next[0]
      }
      await new Promise<void>((resolve) => this.#takers.push(resolve))
    }
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer)
    this.#timers.delete(key)
  }

  done(key: string): void {
    this.#inHand.delete(key)
    const urgency = this.#again.get(key)
    this.#again.delete(key)
    if (urgency !== undefined) this.add(key, urgency)
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    for (const wake of this.#takers.splice(0)) wake()
  }
}
