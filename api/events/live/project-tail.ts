import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { windowPage, type EventWindow, type Mark } from '../../../core/db/events/event-stream.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { followEvents } from '../../../core/notices/event-notices.ts'
import type { Semaphore } from '../../../core/pacing/semaphore.ts'
import type { HorizonReader } from './horizon.ts'
import { streamEvent, type StreamEvent } from './message.ts'
import { positionAt, type Position } from './position.ts'

export interface TailDeps {
  db: Db
  clock: Clock
  nats: NatsConnection
  log: Logger
  horizon: HorizonReader
  /** Statements of all streams of the process that may run at once. */
  turns: Semaphore
}

/** A stream that hears of new events as they come. */
export interface Follower {
  /** All below the mark was sent; what comes from now on is offered. */
  begin(since: Mark): void
  /** The next events of a window; `reached` is the position behind them. */
  offer(events: readonly StreamEvent[], window: EventWindow, reached: Position): void
  /** The database is not the one it was: positions mean nothing any more. */
  lose(): void
}

interface Joining {
  /** Undefined: whatever comes from now on. */
  mark: Mark | undefined
  resolve: (since: Mark | 'live') => void
}

/** Heals a missed notice. (decisions: Statistics and stream) */
const POLL_MS = 1_000

/** A transaction was open: it ends in milliseconds. */
const LOOK_AGAIN_MS = 40

/** Between two looks, so that a busy project costs PostgreSQL a fifth of one core at most: a multiple of the last look. */
const REST_FACTOR = 4
const REST_MS_MIN = 20
const REST_MS_MAX = 400

/** Events of one statement. */
export const PAGE_EVENTS = 500

/** Reads the new events of one project once for all of its streams in this process. */
export class ProjectTail {
  readonly #deps: TailDeps
  readonly #projectId: string
  readonly #stop = new AbortController()
  readonly #live = new Set<Follower>()
  readonly #joining = new Map<Follower, Joining>()
  readonly #notices: Disposable
  /** The first mark that was seen: what is settled there is the present. */
  #first: Mark | undefined
  #at: Position | undefined
  #isPoked = false
  #wake: (() => void) | undefined

  constructor(deps: TailDeps, projectId: string) {
    this.#deps = deps
    this.#projectId = projectId
    this.#notices = followEvents(deps.nats, projectId, () => this.#poke())
    void this.#run()
  }

  get isUnused(): boolean {
    return this.#live.size === 0 && this.#joining.size === 0
  }

  /**
   * Takes a stream that has sent all below `mark`. Resolves with `live` when it hears of everything from there on, or
   * with a later mark up to which it has to read by itself first.
   */
  async join(follower: Follower, mark: Mark | undefined): Promise<Mark | 'live'> {
    return await new Promise((resolve) => {
      this.#joining.set(follower, { mark, resolve })
      this.#poke()
    })
  }

  leave(follower: Follower): void {
    this.#live.delete(follower)
    this.#joining.delete(follower)
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
    this.#notices[Symbol.dispose]()
    this.#wake?.()
  }

  async #run(): Promise<void> {
    const { log } = this.#deps
    while (!this.#stop.signal.aborted) {
      const startedAt = performance.now()
      this.#isPoked = false
      const waitMs = await this.#look().catch((err: unknown) => {
        log.warn({ err, projectId: this.#projectId }, 'Cannot read new events')
        return POLL_MS
      })
      const rest = (performance.now() - startedAt) * REST_FACTOR
      await this.#pause(Math.min(REST_MS_MAX, Math.max(REST_MS_MIN, rest)), false)
      await this.#pause(waitMs, true)
    }
  }

  /** Returns after which time to look again when nothing else asks for it. */
  async #look(): Promise<number> {
    // Only those that came before the question: for them its answer is the present.
    const joining = [...this.#joining.keys()]
    const { settled, newest } = await this.#deps.horizon.read()
    if (this.#first === undefined || newest.transaction < this.#first.transaction) {
      this.#first = newest
    }
    if (settled === undefined || settled.transaction < this.#first.transaction) return LOOK_AGAIN_MS
    this.#at ??= positionAt(settled)
    if (settled.transaction < this.#at.until.transaction) this.#lose()
    else await this.#pass(settled)
    if (this.#stop.signal.aborted) return 0
    for (const follower of joining) this.#admit(follower, settled)
    return newest.transaction > settled.transaction ? LOOK_AGAIN_MS : POLL_MS
  }

  /** Offers what lies below the mark. A window that a failure has left half read is finished first. */
  async #pass(settled: Mark): Promise<void> {
    const { db, turns } = this.#deps
    let at = this.#at ?? positionAt(settled)
    while (at.until.transaction < settled.transaction || at.from !== at.until) {
      const window = at.from === at.until ? { from: at.until, until: settled } : at
      const query = { projectId: this.#projectId, sourceId: undefined, limit: PAGE_EVENTS }
      const { afterId } = at
      const rows = await turns.take(async () => await windowPage(db, window, { ...query, afterId }))
      if (this.#stop.signal.aborted) return
      at =
        rows.length < PAGE_EVENTS
          ? positionAt(window.until)
          : { from: window.from, until: window.until, afterId: rows.at(-1)?.id ?? null }
      this.#at = at
      const events = rows.map(streamEvent)
      for (const follower of this.#live) follower.offer(events, window, at)
    }
  }

  #admit(follower: Follower, settled: Mark): void {
    const joining = this.#joining.get(follower)
    // A follower from a process that is ahead waits until this process catches up.
    if (joining === undefined || (joining.mark?.transaction ?? 0n) > settled.transaction) return
    this.#joining.delete(follower)
    if (joining.mark === undefined || joining.mark.transaction === settled.transaction) {
      this.#live.add(follower)
      follower.begin(settled)
      joining.resolve('live')
    } else {
      joining.resolve(settled)
    }
  }

  #lose(): void {
    this.#at = undefined
    for (const follower of [...this.#live, ...this.#joining.keys()]) follower.lose()
  }

  #poke(): void {
    this.#isPoked = true
    this.#wake?.()
  }

  async #pause(ms: number, isWakeable: boolean): Promise<void> {
    if (this.#stop.signal.aborted || (isWakeable && this.#isPoked)) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      if (!isWakeable) return
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}
