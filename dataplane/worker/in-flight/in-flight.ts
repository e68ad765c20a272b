import type { MessageAck } from './message-ack.ts'
import type { Work } from './work.ts'

/** Deliveries remembered that settled while a claim was under way; past it the oldest is forgotten. */
const REMEMBERED_MAX = 10_000

/**
 * The deliveries in flight in this worker. A due row does not prove that its worker is gone: if the clock jumps forward, a
 * lease expires while we are still sending.
 */
export class InFlight {
  readonly #works = new Map<string, Work>()
  readonly #underWay = new Set<Work>()
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
   * Adds the work until it ends. Returns false if this delivery is already in flight (the existing entry takes over the new
   * row and message), or if it finished after this row was queried.
   */
  take(work: Work): boolean {
    const { deliveryId, hold } = work
    const known = this.#works.get(deliveryId)
    if (
      known !== undefined &&
      known.place !== 'parking' &&
      known.hold.partition === hold.partition &&
      known.hold.epoch === hold.epoch
    ) {
      join(known, work)
      return false
    }
    if ((this.#settled.get(deliveryId) ?? 0) > work.askedAt) return false
    this.#works.set(deliveryId, work)
    return true
  }

  /** The message of a delivery came again: if the delivery is in flight and unanswered, it acks this message instead. */
  renew(deliveryId: string, message: MessageAck): boolean {
    const known = this.#works.get(deliveryId)
    if (known === undefined || known.message === null) return false
    known.message = message
    return true
  }

  /** An attempt at it begins, which lasts until it ends. */
  begin(work: Work): void {
    work.place = 'sending'
    this.#underWay.add(work)
  }

  /** The partition of a delivery that is being sent goes to another worker. A delivery without a row goes with it. */
  handOver(work: Work): void {
    if (work.place === 'sending' && work.isWaiting) work.place = 'handed_over'
  }

  /** Deliveries being sent, until their results are written. */
  get underWay(): ReadonlySet<Work> {
    return this.#underWay
  }

  /** Its row stands for it: its message is not needed any more. */
  acknowledge(work: Work): void {
    work.message?.ack()
    work.message = null
  }

  /** Its outcome is in PostgreSQL: nothing else needs to remember it. */
  settle(work: Work): void {
    // A parked delivery, or one whose partition came back under another hold, may have been claimed since.
    const isNewest = work.place !== 'parking' && this.#works.get(work.deliveryId) === work
    if (this.#claims > 0 && isNewest) this.#remember(work.deliveryId)
    this.acknowledge(work)
    this.#end(work)
  }

  /** It is given back unsent, so that another worker has it at once. */
  release(work: Work): void {
    work.message?.nak()
    work.message = null
    this.#end(work)
  }

  /** It is let go of without a word: its message comes again, or its row becomes due. */
  abandon(work: Work): void {
    this.#end(work)
  }

  #end(work: Work): void {
    if (this.#works.get(work.deliveryId) === work) this.#works.delete(work.deliveryId)
    this.#underWay.delete(work)
    work.room.give()
    work.allowance?.add(-work.bytes, -1)
    work.allowance = null
  }

  #remember(deliveryId: string): void {
    this.#settled.set(deliveryId, performance.now())
    const [oldest] = this.#settled.keys()
    if (this.#settled.size > REMEMBERED_MAX && oldest !== undefined) this.#settled.delete(oldest)
  }
}

function join(known: Work, { isWaiting, leaseUntilMs, message }: Work): void {
  known.isWaiting ||= isWaiting
  // The one that was claimed last is the row's, and may have come first.
  known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs)
  known.message = message ?? known.message
}
