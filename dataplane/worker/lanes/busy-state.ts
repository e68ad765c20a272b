import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import type { Held } from '../../../core/delivery/transport.ts'
import type { Answered } from '../send/deliver.ts'

/** Past this concurrency nothing holds a lane back that could still double. */
const RAMP_MAX = 1_024

/** First and longest wait until a connector that took nothing is asked again, unless it says that it is online. */
const HELD_MS = {
  offline: { first: 1_000, longest: 15_000 },
  full: { first: 250, longest: 2_000 },
  refused: { first: 250, longest: 2_000 },
} satisfies Record<Held, unknown>

/**
 * Whether a destination that answered 429, 502 or 504 is left alone, or cut off because its connector is offline or full;
 * and how many attempts it gets at once afterwards: one until that has come through, then twice as many with each success.
 */
export class BusyState {
  #isBusy = false
  #sinceMs = 0
  #untilMs = 0
  #ramp = Number.POSITIVE_INFINITY
  #held: Held | null = null
  #heldMs = 0
  readonly #note: (window: BusyWindow | null) => void

  /** Begins with a window that was written down. `note` hears of each one that begins, and with null that it is over. */
  constructor(window: BusyWindow | null, note: (window: BusyWindow | null) => void) {
    this.#note = note
    if (window !== null) this.#begin(window.sinceMs, window.untilMs)
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Its connector takes nothing: attempts by hand wait as well. */
  get isCutOff(): boolean {
    return this.#held !== null
  }

  /** Why its deliveries wait. */
  get lastError(): 'connector_offline' | 'connector_full' | null {
    return this.#held === null || this.#held === 'refused' ? null : `connector_${this.#held}`
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
  learn(nowMs: number, { busy, held, hasSucceeded }: Answered, startedAtMs: number): void {
    if (held !== undefined) return this.#cutOff(nowMs, held, startedAtMs)
    if (busy === null) {
      this.#relax(nowMs, hasSucceeded && startedAtMs > this.#sinceMs)
      return
    }
    this.#begin(nowMs, busy.untilMs)
    const { responseStatus } = busy
    this.#note({ sinceMs: this.#sinceMs, untilMs: this.#untilMs, responseStatus })
  }

  /** Its connector is online again: one attempt goes at once. */
  probe(nowMs: number): void {
    if (this.#held !== null) this.#untilMs = nowMs
  }

  /** The destination is another now: what it answered before says nothing. */
  end(): void {
    this.#isBusy = false
    this.#held = null
    this.#ramp = Number.POSITIVE_INFINITY
    // A word that is on its way to PostgreSQL may be written after it was ended there.
    this.#note(null)
  }

  /**
   * The first of attempts that were under way together counts; each probe that fails doubles the wait. A clock that was set
   * back meanwhile lets a probe start before the end of the wait: it counts too, or the next one would follow at once.
   */
  #cutOff(nowMs: number, held: Held, startedAtMs: number): void {
    if (this.#held !== null && nowMs >= this.#sinceMs && startedAtMs < this.#untilMs) return
    const { first, longest } = HELD_MS[held]
    this.#heldMs = this.#held === held ? Math.min(2 * this.#heldMs, longest) : first
    this.#held = held
    this.#isBusy = true
    this.#ramp = 1
    this.#sinceMs = nowMs
    this.#untilMs = nowMs + this.#heldMs
  }

  /** An attempt by hand may be told a sooner time than the one that is being waited for: the later counts. */
  #begin(nowMs: number, untilMs: number): void {
    this.#untilMs = this.isLeftAlone(nowMs) ? Math.max(this.#untilMs, untilMs) : untilMs
    this.#isBusy = true
    this.#held = null
    this.#ramp = 1
    this.#sinceMs = nowMs
  }

  /**
   * An attempt ended otherwise. Only a probe counts: what was under way when the window began says nothing about now.
   * Within the window that is an attempt by hand, and only its success says that the destination is ready.
   */
  #relax(nowMs: number, isProof: boolean): void {
    if (this.isLeftAlone(nowMs) && !isProof) return
    if (this.#isBusy && this.#held === null) this.#note(null)
    this.#isBusy = false
    this.#held = null
    this.#ramp = this.#ramp >= RAMP_MAX ? Number.POSITIVE_INFINITY : this.#ramp * 2
  }
}
