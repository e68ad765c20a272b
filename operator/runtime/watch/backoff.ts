export interface BackoffOptions {
  firstMs: number
  maxMs: number
  random?: () => number
}

/** Waiting times that double with each failure, each between half and one and a half of its length. */
export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  next(): number {
    const { firstMs, maxMs, random = Math.random } = this.#options
    const ms = Math.min(maxMs, firstMs * 2 ** Math.min(this.#failures, 30))
    this.#failures++
    return Math.min(maxMs, ms * (0.5 + random()))
  }

  reset(): void {
    this.#failures = 0
  }
}
