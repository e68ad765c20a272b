interface Waiter {
  bytes: number
  taken(): void
}

/**
 * Bytes of request bodies that the gateway holds, or has sent and agents not yet passed on, over all sessions. An owner has
 * its share at most, and no more than all others leave free: many who take all they may still leave some to the next.
 */
export class BodyBudget {
  readonly #total: number
  readonly #share: number
  readonly #taken = new Map<string, number>()
  /** In the order in which they came, for each owner. */
  readonly #waiting = new Map<string, Set<Waiter>>()
  #used = 0

  constructor(totalBytes: number, shareBytes: number) {
    this.#total = totalBytes
    this.#share = shareBytes
  }

  get used(): number {
    return this.#used
  }

  /** Whether the owner could take so many bytes now. */
  fits(owner: string, bytes: number): boolean {
    const taken = this.#taken.get(owner) ?? 0
    const free = this.#total - this.#used
    return !this.#waiting.has(owner) && bytes <= Math.min(this.#share - taken, free - taken)
  }

  /** Calls `taken` once the bytes are the owner's: at once if they fit. The result ends the wait before that. */
  take(owner: string, bytes: number, taken: () => void): () => void {
    if (this.fits(owner, bytes)) {
      this.add(owner, bytes)
      taken()
      return () => {}
    }
    const waiters = this.#waiting.get(owner) ?? new Set()
    const waiter = { bytes, taken }
    this.#waiting.set(owner, waiters.add(waiter))
    return () => this.#forget(owner, waiter)
  }

  give(owner: string, bytes: number): void {
    this.add(owner, -bytes)
    const owners = [...this.#waiting.keys()]
    for (const each of owners) this.#serve(each)
  }

  #serve(owner: string): void {
    const waiters = this.#waiting.get(owner) ?? new Set()
    this.#waiting.delete(owner)
    for (const waiter of waiters) {
      if (!this.fits(owner, waiter.bytes)) break
      waiters.delete(waiter)
      this.add(owner, waiter.bytes)
      waiter.taken()
    }
    if (waiters.size > 0) this.#waiting.set(owner, waiters)
  }

  #forget(owner: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(owner)
    if (waiters?.delete(waiter) !== true) return
    if (waiters.size === 0) this.#waiting.delete(owner)
  }

  /** For what is there already, whether it fits or not. */
  add(owner: string, bytes: number): void {
    this.#used += bytes
    const taken = (this.#taken.get(owner) ?? 0) + bytes
    if (taken > 0) this.#taken.set(owner, taken)
    else this.#taken.delete(owner)
  }
}
