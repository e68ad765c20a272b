import type { Clock } from '../../../core/clock.ts'
import type { Pool } from '../../../core/db/connection/db.ts'
import { claimParked } from '../../../core/db/deliveries/work/claims.ts'
import { moveParked, parkedLanes } from '../../../core/db/deliveries/work/parked-lanes.ts'
import { LEASE_MS } from '../../../core/limits.ts'
import { roomForClaim, type Memory } from '../in-flight/memory.ts'
import { workOfClaim } from '../in-flight/work.ts'
import type { Holdings } from '../own/holdings.ts'
import type { BacklogDeps, LaneKey } from './backlog.ts'

interface ParkedRowsDeps {
  pool: Pool
  clock: Clock
  /** The name that claimed rows carry. */
  name: string
  memory: Memory
  holdings: Holdings
}

/** The parked deliveries of all lanes in the partitions of this worker. */
export interface ParkedRows {
  claimParked: BacklogDeps['claimParked']
  moveParked: BacklogDeps['moveParked']
  /** Lanes with parked rows. */
  find(): Promise<LaneKey[]>
}

export function openParkedRows({
  pool,
  clock,
  name,
  memory,
  holdings,
}: ParkedRowsDeps): ParkedRows {
  return {
    async find() {
      const owned = holdings.holds().map(({ partition }) => partition)
      return owned.length === 0 ? [] : await parkedLanes(pool, owned)
    },
    // In turn with the other lanes.
    async claimParked({ destinationId, partition }, wanted, { byHandOnly, allowance }) {
      const room = await roomForClaim(memory)
      const limit = allowance?.rowsFor(wanted) ?? wanted
      using _reserved = allowance?.reserve(limit)
      try {
        const hold = holdings.holdOf(partition)
        if (hold === undefined) return { works: [], isAll: true }
        if (limit === 0) return { works: [], isAll: false }
        const askedAt = performance.now()
        const nowMs = clock.now()
        const leaseUntilMs = nowMs + LEASE_MS
        const { deliveries, isAll } = await claimParked(
          pool,
          { destinationId, hold, byHandOnly },
          { nowMs, leaseUntilMs, limit, claimedBy: name },
        )
        const works = deliveries.map((one) =>
          workOfClaim(one, { hold, leaseUntilMs, askedAt }, memory.work.reserve(one.bytes)),
        )
        return { works, isAll }
      } finally {
        room.give()
      }
    },
    async moveParked(lane, from) {
      for (let hasMore = true; hasMore;) {
        const hold = holdings.holdOf(from)
        hasMore = hold !== undefined && (await moveParked(pool, lane, hold))
      }
    },
  }
}
