import type { Clock } from '../../../core/clock.ts'
import { LEASE_MS } from '../../../core/limits.ts'
import type { Withdrawal } from '../../../core/notices/withdrawals.ts'
import type { Work } from './work.ts'

/**
 * How long a deleted connection or destination is remembered: ingest may use it for 2 s, and a message that is older
 * than half its lease is claimed first, which finds out.
 */
const DELETED_MS = 60_000

/** Withdrawals remembered of each kind; past it the oldest is forgotten. */
const REMEMBERED_MAX = 100_000

/**
 * Deliveries that this worker must not begin to send, although they may be in a lane or about to arrive: a delivery that is
 * being cancelled, until its present lease ends, and all deliveries of a deleted connection or destination.
 */
export class Withdrawals {
  readonly #clock: Clock
  /** The lease under which each was withdrawn: under another lease it was asked for again. */
  readonly #deliveries = new Map<string, number>()
  readonly #deleted = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add({ deliveries, deleted }: Withdrawal): void {
    const deletedAt = performance.now()
    for (const id of deleted) remember(this.#deleted, id, deletedAt)
    for (const { id, leaseUntilMs } of deliveries) remember(this.#deliveries, id, leaseUntilMs)
    forget(this.#deleted, deletedAt - DELETED_MS)
    forget(this.#deliveries, this.#clock.now() - LEASE_MS)
  }

  /** `let_go`: another writes its end. `orphaned`: whoever has it does. */
  stateOf(work: Work): 'kept' | 'let_go' | 'orphaned' {
    // Mostly nothing is withdrawn, and V8 enters an id that just came into its table of names to look for it.
    if (this.#deliveries.size === 0 && this.#deleted.size === 0) return 'kept'
    if (this.#deliveries.get(work.deliveryId) === work.leaseUntilMs) return 'let_go'
    const isOrphan = this.isDeleted(work.destinationId) || this.isDeleted(work.connectionId)
    return isOrphan ? 'orphaned' : 'kept'
  }

  /** A connection or destination that was deleted lately. */
  isDeleted(id: string | null): boolean {
    if (id === null) return false
    const at = this.#deleted.get(id)
    return at !== undefined && performance.now() - at < DELETED_MS
  }
}

function remember(map: Map<string, number>, id: string, moment: number): void {
  map.delete(id)
  map.set(id, moment)
}

/** Drops from the oldest on what is past, or too much. */
function forget(map: Map<string, number>, before: number): void {
  for (const [id, moment] of map) {
    if (moment >= before && map.size <= REMEMBERED_MAX) return
    map.delete(id)
  }
}
