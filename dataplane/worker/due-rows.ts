import type { Clock } from '../../core/clock.ts'
import type { Pool } from '../../core/db/db.ts'
import type { Hold } from '../../core/db/partition-owners.ts'
import { claimDue } from '../../core/db/waiting.ts'
import { LEASE_MS } from '../../core/limits.ts'
import type { Lanes } from './lanes.ts'
import type { Results } from './results.ts'
import { workOfClaim } from './work.ts'

const BATCH = 256

/** Due rows are not taken while this much is in memory. */
const HELD_MAX = 4_096

export interface DueRowsDeps {
  pool: Pool
  clock: Clock
  /** Under which name rows are claimed. */
  name: string
  lanes: Lanes
  results: Results
  holds(): Hold[]
}

/** Brings waiting rows whose time has come into their lanes. */
export class DueRows {
  readonly #deps: DueRowsDeps
  readonly #taking = new Set<Promise<void>>()

  constructor(deps: DueRowsDeps) {
    this.#deps = deps
  }

  async take(): Promise<void> {
    const taking = this.#takeAll()
    this.#taking.add(taking)
    try {
      await taking
    } finally {
      this.#taking.delete(taking)
    }
  }

  /** Resolves when the rows that are on their way now have come. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#taking)
  }

  async #takeAll(): Promise<void> {
    for (let taken = BATCH; taken === BATCH && this.#hasRoom();) taken = await this.#takeBatch()
  }

  #hasRoom(): boolean {
    return this.#deps.lanes.held + this.#deps.results.backlog() < HELD_MAX
  }

  async #takeBatch(): Promise<number> {
    const { pool, clock, name, lanes } = this.#deps
    const owned = this.#deps.holds()
    if (owned.length === 0) return 0
    const nowMs = clock.now()
    const leaseUntilMs = nowMs + LEASE_MS
    const claimed = await claimDue(pool, owned, {
      nowMs,
      leaseUntilMs,
      limit: BATCH,
      claimedBy: name,
    })
    const holdOf = new Map(owned.map((hold) => [hold.partition, hold]))
    for (const one of claimed) {
      const hold = holdOf.get(one.partition)
      if (hold !== undefined) lanes.admit(workOfClaim(one, { hold, leaseUntilMs }))
    }
    return claimed.length
  }
}
