import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import { nowDoing } from '../../../core/loop/watch.ts'
import { Alarm } from '../lanes/alarm.ts'
import type { DueRows } from './due-rows.ts'

/** Looks while rows are due: how late one of them may be. */
const LOOKS_MS = 100

export interface DueWatchDeps {
  due: Pick<DueRows, 'take' | 'nextAt'>
  clock: Clock
  log: Logger
}

/**
 * Claims rows when the first of them is due. It asks when that is, once a second when nothing is, and hears of rows that
 * this worker writes.
 */
export class DueWatch implements AsyncDisposable {
  readonly #deps: DueWatchDeps
  readonly #alarm = new Alarm(() => this.look())
  #looking: Promise<void> | undefined
  #isStopped = false

  constructor(deps: DueWatchDeps) {
    this.#deps = deps
  }

  /** Looks now, and from now on. While it looks already, it looks again afterwards. */
  look(): void {
    if (this.#isStopped) return
    if (this.#looking === undefined) this.#looking = this.#look()
    else this.expect(this.#deps.clock.now())
  }

  /** A row that this worker writes will be due. */
  expect(atMs: number): void {
    if (this.#isStopped) return
    const nowMs = this.#deps.clock.now()
    this.#alarm.set(Math.max(atMs, nowMs + LOOKS_MS), nowMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    this.#alarm[Symbol.dispose]()
    await this.#looking
  }

  async #look(): Promise<void> {
    const { due, clock, log } = this.#deps
    let nextMs = 0
    try {
      nowDoing('due')
      nextMs = await due.nextAt()
      if (nextMs <= clock.now()) await due.take()
    } catch (err) {
      log.warn({ err }, 'Cannot claim due deliveries')
    }
    this.#looking = undefined
    this.expect(nextMs)
  }
}
