import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import type { Answered } from '../send/deliver.ts'

/** Past this concurrency nothing holds a lane back that could still double. */
const RAMP_MAX = 1_024

/**
 * Whether a destination that answered 429, 502 or 504 is left alone, and how many attempts it gets at once afterwards:
 * one until that has come through, then twice as many with each success.
 */
export class BusyState {
  #isBusy = false
  #sinceMs = 0
  #untilMs = 0
  #ramp = Number.POSITIVE_INFINITY
  readonly #note: (window: BusyWindow | null) => void

  /** Begins with a window that was written down. `note` hears of each one that begins, and with null that it is over. */
  constructor(window: BusyWindow | null, note: (window: BusyWindow | null) => void) {
    this.#note = note
    if (window !== null) this.#begin(window.sinceMs, window.untilMs)
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  get untilMs(): number {
    return this.#untilMs
  }

  /** Not when the clock was set back meanwhile: nobody knows then when its time is over, and a probe will tell. */
  isLeftAlone(nowMs: number): boolean {
    return this.#isBusy && nowMs >= this.#sinceMs && nowMs < this.#untilMs
  }

  concurrency(most: number): number {
    return this.#isBusy ? 1 : Math.min(this.#ramp, most)
  }

  /** From what an attempt came to. */
  learn(nowMs: number, { busy, hasSucceeded }: Answered, startedAtMs: number): void {
    if (busy === null) {
      this.#relax(nowMs, hasSucceeded && startedAtMs > this.#sinceMs)
      return
    }
    this.#begin(nowMs, busy.untilMs)
    const { responseStatus } = busy
    this.#note({ sinceMs: this.#sinceMs, untilMs: this.#untilMs, responseStatus })
  }

  /** The destination is another now: what it answered before says nothing. */
  end(): void {
    this.#isBusy = false
    this.#ramp = Number.POSITIVE_INFINITY
    // A word that is on its way to PostgreSQL may be written after it was ended there.
    this.#note(null)
  }

  /** An attempt by hand may be told a sooner time than the one that is being waited for: the later counts. */
  #begin(nowMs: number, untilMs: number): void {
    this.#untilMs = this.isLeftAlone(nowMs) ? Math.max(this.#untilMs, untilMs) : untilMs
    this.#isBusy = true
    this.#ramp = 1
    this.#sinceMs = nowMs
  }

  /**
   * An attempt ended otherwise. Only a probe counts: what was under way when the window began says nothing about now.
   * Within the window that is an attempt by hand, and only its success says that the destination is ready.
   */
  #relax(nowMs: number, isProof: boolean): void {
    if (this.isLeftAlone(nowMs) && !isProof) return
    if (this.#isBusy) this.#note(null)
    this.#isBusy = false
    this.#ramp = this.#ramp >= RAMP_MAX ? Number.POSITIVE_INFINITY : this.#ramp * 2
  }
}
