/** At most a second long, so that a shifted clock is noticed. */
const LONGEST_MS = 1_000

/** A timer that rings at the earliest of the moments it was set to. */
export class Alarm {
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined
  #atMs = 0

  constructor(ring: () => void) {
    this.#ring = ring
  }

  set(atMs: number, nowMs: number): void {
    if (this.#timer !== undefined && this.#atMs <= atMs) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#ring()
      },
      Math.min(Math.max(atMs - nowMs, 1), LONGEST_MS),
    )
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
