import type { Clock } from '../../../core/clock.ts'
import type { Pool } from '../../../core/db/connection/db.ts'
import { claimDue, firstDueAt } from '../../../core/db/deliveries/work/claims.ts'
import { CLAIM_BYTES_MAX, LEASE_MS, WORK_MAX } from '../../../core/limits.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import type { Memory } from '../in-flight/memory.ts'
import { workOfClaim } from '../in-flight/work.ts'
import type { Lanes } from '../lanes/lanes.ts'
import type { Holdings } from '../own/holdings.ts'
import type { Results } from '../record/results.ts'

const BATCH = 256

/** Due rows are not taken while this much is in memory: the rest is left to messages. */
const IN_MEMORY_MAX = (WORK_MAX * 7) / 8

export interface DueRowsDeps {
  pool: Pool
  clock: Clock
  /** Under which name rows are claimed. */
  name: string
  lanes: Lanes
  results: Results
  memory: Memory
  inFlight: InFlight
  holdings: Holdings
}

/** Claims due rows and puts them into their lanes. */
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

  /** When the next row is due, as the clock of this process has it. Infinity when no row has a time. */
  async nextAt(): Promise<number> {
    const owned = this.#deps.holdings.holds().map(({ partition }) => partition)
    if (owned.length === 0) return Number.POSITIVE_INFINITY
    return (await firstDueAt(this.#deps.pool, owned)) ?? Number.POSITIVE_INFINITY
  }

  /** Resolves when the rows that are on their way now have come. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#taking)
  }

  async #takeAll(): Promise<void> {
    for (let isAll = false; !isAll && this.#hasRoom();) isAll = await this.#takeBatch()
  }

  #hasRoom(): boolean {
    const { lanes, results, memory } = this.#deps
    return memory.work.hasRoom && lanes.inMemory + results.backlog() < IN_MEMORY_MAX
  }

  /** Whether that was all. */
  async #takeBatch(): Promise<boolean> {
    const { pool, clock, name, lanes, memory } = this.#deps
    const owned = this.#deps.holdings.holds()
    if (owned.length === 0) return true
    const room = memory.claims.reserve(CLAIM_BYTES_MAX)
    using _claim = this.#deps.inFlight.claiming()
    try {
      const askedAt = performance.now()
      const nowMs = clock.now()
      const leaseUntilMs = nowMs + LEASE_MS
      const claim = { nowMs, leaseUntilMs, limit: BATCH, claimedBy: name }
      const { deliveries, isAll } = await claimDue(pool, owned, claim)
      const holdOf = new Map(owned.map((hold) => [hold.partition, hold]))
      for (const one of deliveries) {
        const hold = holdOf.get(one.partition)
        if (hold === undefined) continue
        lanes.admit(
          workOfClaim(one, { hold, leaseUntilMs, askedAt }, memory.work.reserve(one.bytes)),
        )
      }
      return isAll
    } finally {
      room.give()
    }
  }
}
