/** Bytes that the gateway may have sent and agents not yet passed on, over all sessions, with a share for each owner. */
export class BodyBudget {
  readonly #total: number
  readonly #share: number
  readonly #waiting = new Set<() => void>()
  readonly #taken = new Map<string, number>()
  #used = 0

  constructor(totalBytes: number, shareBytes: number) {
    this.#total = totalBytes
    this.#share = shareBytes
  }

  get used(): number {
    return this.#used
  }

  /** How many bytes the owner may take now. */
  left(owner: string): number {
    const share = this.#share - (this.#taken.get(owner) ?? 0)
    return Math.max(0, Math.min(share, this.#total - this.#used))
  }

  take(owner: string, bytes: number): void {
    this.#used += bytes
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + bytes)
  }

  give(owner: string, bytes: number): void {
    this.#used -= bytes
    const rest = (this.#taken.get(owner) ?? 0) - bytes
    if (rest > 0) this.#taken.set(owner, rest)
    else this.#taken.delete(owner)
    const woken = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of woken) wake()
  }

  /** Calls `wake` once, when bytes were given back. */
  onGiven(wake: () => void): void {
    this.#waiting.add(wake)
  }
}
