/** A wait that can be cut short: what it waits for came earlier. */
export class Nudge {
  readonly #waiting = new Set<() => void>()

  /** Ends every wait that is under way. */
  now(): void {
    for (const wake of this.#waiting) wake()
  }

  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#waiting.add(resolve)
    await promise
    clearTimeout(timer)
    this.#waiting.delete(resolve)
  }
}
