/** Addresses remembered at once; past it the oldest is forgotten, which only forgives. */
const ADDRESSES_MAX = 50_000

/** How often each address may dial this gateway: so many at once, then so many a second. */
export class DialLimit {
  readonly #burstMs: number
  readonly #intervalMs: number
  /** When each address has all of its burst again. */
  readonly #tats = new Map<string, number>()

  constructor({ burst, perSecond }: { burst: number; perSecond: number }) {
    this.#intervalMs = 1_000 / perSecond
    this.#burstMs = (burst - 1) * this.#intervalMs
  }

  /** Counts a dial. Returns for how long it must wait when it is one too many, else 0. */
  take(address: string, nowMs: number): number {
    const tat = Math.max(this.#tats.get(address) ?? 0, nowMs)
    const waitMs = tat - this.#burstMs - nowMs
    if (waitMs > 0) return waitMs
    this.#tats.delete(address)
    this.#tats.set(address, tat + this.#intervalMs)
    const [oldest] = this.#tats.keys()
    if (this.#tats.size > ADDRESSES_MAX && oldest !== undefined) this.#tats.delete(oldest)
    return 0
  }
}
