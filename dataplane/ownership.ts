import type { Db } from '../core/db/connection/db.ts'
import { holdLease, LEASE_HELD_MS, releaseLease } from '../core/db/processes/leases.ts'
import type { Logger } from '../core/log.ts'
import { every } from './every.ts'

export interface OwnershipDeps {
  db: Db
  log: Logger
  /** Names of the lease and of the process that wants it. */
  lease: string
  holder: string
}

/** A lease that one process at a time holds, renewed in the background; the others stand by. */
export class Ownership implements AsyncDisposable {
  readonly #deps: OwnershipDeps
  readonly #stop = new AbortController()
  readonly #renewals: Promise<void>
  #heldUntil = 0

  constructor(deps: OwnershipDeps) {
    this.#deps = deps
    const { log, lease } = deps
    const options = { signal: this.#stop.signal, log, name: `${lease} lease` }
    this.#renewals = every(LEASE_HELD_MS / 3, options, () => this.#renew())
  }

  /** On the monotonic clock: a process that was frozen knows that it lost the lease before it does anything. */
  get isHeld(): boolean {
    return performance.now() < this.#heldUntil
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#renewals
    this.#heldUntil = 0
    const { db, lease, holder } = this.#deps
    await releaseLease(db, lease, holder).catch((err: unknown) =>
      this.#deps.log.warn({ err }, 'Cannot release a lease'),
    )
  }

  async #renew(): Promise<void> {
    const { db, log, lease, holder } = this.#deps
    const askedAt = performance.now()
    const epoch = await holdLease(db, lease, holder)
    const wasHeld = this.isHeld
    this.#heldUntil = epoch === undefined ? 0 : askedAt + LEASE_HELD_MS
    if (this.isHeld !== wasHeld) {
      log.info({ lease, epoch }, this.isHeld ? 'Acquired a lease' : 'Standing by for a lease')
    }
  }
}
