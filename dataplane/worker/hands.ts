import type { Work } from './work.ts'

/** Of those that were settled while a claim was under way; past it the oldest is forgotten. */
const REMEMBERED_MAX = 10_000

/**
 * The deliveries in this worker's hands. A row whose time has come is not always another's to make: when the clock is set
 * ahead, leases end before the work that is done under them.
 */
export class Hands {
  readonly #works = new Map<string, Work>()
  /** When those were settled that were while a claim was under way, on the monotonic clock. */
  readonly #settled = new Map<string, number>()
  #claims = 0

  /** Until it is disposed of, a claim is under way: what it brings may be settled before it comes. */
  claiming(): Disposable {
    this.#claims++
    return {
      [Symbol.dispose]: () => {
        if (--this.#claims === 0) this.#settled.clear()
      },
    }
  }

  /**
   * Keeps the work until it ends. False when the delivery is in hand already, which one now has the row too, or was
   * settled since its row was asked for.
   */
  take(work: Work): boolean {
    const { deliveryId, hold, leaseUntilMs, isWaiting } = work
    const known = this.#works.get(deliveryId)
    if (known?.hold.partition === hold.partition && known.hold.epoch === hold.epoch) {
      known.isWaiting ||= isWaiting
      // The one that was claimed last is the row's, and may have come first.
      known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs)
      return false
    }
    if ((this.#settled.get(deliveryId) ?? 0) > work.askedAt) return false
    this.#works.set(deliveryId, work)
    const { settle, release, abandon } = work
    work.settle = () => {
      // One that was parked has left: its row may have been claimed since, and is to be taken.
      if (this.#claims > 0 && this.#works.get(deliveryId) === work) this.#remember(deliveryId)
      this.#end(work, settle)
    }
    work.release = () => this.#end(work, release)
    work.abandon = () => this.#end(work, abandon)
    return true
  }

  /** The work is being parked: its row may be claimed anew as soon as that is written, before this worker knows. */
  leave(work: Work): void {
    if (this.#works.get(work.deliveryId) === work) this.#works.delete(work.deliveryId)
  }

  #remember(deliveryId: string): void {
    this.#settled.set(deliveryId, performance.now())
    const [oldest] = this.#settled.keys()
    if (this.#settled.size > REMEMBERED_MAX && oldest !== undefined) this.#settled.delete(oldest)
  }

  #end(work: Work, end: () => void): void {
    this.leave(work)
    end()
  }
}
