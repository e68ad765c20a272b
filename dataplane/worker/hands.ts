import type { Work } from './work.ts'

/**
 * The deliveries in this worker's hands. A row whose time has come is not always another's to make: when the clock is set
 * ahead, leases end before the work that is done under them.
 */
export class Hands {
  readonly #works = new Map<string, Work>()

  /** Keeps the work until it ends. False when the delivery is in hand already: that one now has the row too. */
  take(work: Work): boolean {
    const { deliveryId, hold, leaseUntilMs, isWaiting } = work
    const known = this.#works.get(deliveryId)
    if (known?.hold.partition === hold.partition && known.hold.epoch === hold.epoch) {
      known.isWaiting ||= isWaiting
      known.leaseUntilMs = leaseUntilMs
      return false
    }
    this.#works.set(deliveryId, work)
    const { settle, release, abandon } = work
    work.settle = () => this.#end(work, settle)
    work.release = () => this.#end(work, release)
    work.abandon = () => this.#end(work, abandon)
    return true
  }

  /** The work is being parked: its row may be claimed anew as soon as that is written, before this worker knows. */
  leave(work: Work): void {
    if (this.#works.get(work.deliveryId) === work) this.#works.delete(work.deliveryId)
  }

  #end(work: Work, end: () => void): void {
    this.leave(work)
    end()
  }
}
