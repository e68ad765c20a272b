/** Past this concurrency nothing holds a lane back that could still double. */
const RAMP_MAX = 1_024

/**
 * Whether a destination that answered 429, 502 or 504 is left alone, and how many attempts it gets at once afterwards:
 * one until that has come through, then twice as many with each success.
 */
export class Busyness {
  #isBusy = false
  #sinceMs = 0
  #untilMs = 0
  #ramp = Number.POSITIVE_INFINITY

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

  begin(nowMs: number, untilMs: number): void {
    this.#isBusy = true
    this.#ramp = 1
    this.#sinceMs = nowMs
    this.#untilMs = untilMs
  }

  /** An attempt ended otherwise. Only a probe counts: what was under way when it began says nothing about now. */
  relax(nowMs: number): void {
    if (this.isLeftAlone(nowMs)) return
    this.#isBusy = false
    this.#ramp = this.#ramp >= RAMP_MAX ? Number.POSITIVE_INFINITY : this.#ramp * 2
  }
}
