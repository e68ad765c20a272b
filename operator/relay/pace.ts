/** A key has 600 requests a minute (spec: Limits), and other clients may use it as well. */
const SPACING_MS = 125

/**
 * Lets callers through one after the other, eight a second at most, those of a higher rank first. `pause` holds everybody.
 */
export class Pace {
  readonly #waiting: [(() => void)[], (() => void)[]] = [[], []]
  readonly #spacingMs: number
  #nextAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(spacingMs = SPACING_MS) {
    this.#spacingMs = spacingMs
  }

  get isIdle(): boolean {
    return this.#waiting.every((queue) => queue.length === 0)
  }

  async turn(rank: 'first' | 'last' = 'first'): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting[rank === 'first' ? 0 : 1].push(resolve)
      this.#arm()
    })
  }

  pause(untilMs: number): void {
    this.#nextAt = Math.max(this.#nextAt, untilMs)
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#arm()
  }

  #arm(): void {
    if (this.#timer !== undefined || this.isIdle) return
    const waitMs = Math.max(0, this.#nextAt - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // A timer may be a little early.
      if (performance.now() >= this.#nextAt) {
        this.#nextAt = performance.now() + this.#spacingMs
        const next = this.#waiting[0].shift() ?? this.#waiting[1].shift()
        next?.()
      }
      this.#arm()
    }, waitMs)
  }
}
