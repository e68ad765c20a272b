import { MINUTE_MS, type Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { countEvents } from '../../../core/db/events/event-counts.ts'

/** Counts in memory: sources times reasons times minutes not yet written. */
const COUNTS_MAX = 10_000

interface Count {
  atMs: number
  projectId: string
  sourceId: string
  rejectionReason: string
  events: number
}

/**
 * Rejected requests that were not stored, gathered here and written now and then: whoever floods a source must not
 * cause a write per request. (decisions: Ingest, Rejected events)
 */
export class RejectionCounts {
  readonly #db: Db
  readonly #clock: Clock
  #counts = new Map<string, Count>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  note(source: { id: string; projectId: string }, rejectionReason: string): void {
    const atMs = Math.floor(this.#clock.now() / MINUTE_MS) * MINUTE_MS
    const count = {
      atMs,
      projectId: source.projectId,
      sourceId: source.id,
      rejectionReason,
      events: 1,
    }
    this.#add(count)
  }

  /** Writes the counts; they stay for the next time if that fails. */
  async flush(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    try {
      await countEvents(
        this.#db,
        counts.map((count) => ({ ...count, status: 'rejected' })),
      )
    } catch (error) {
      for (const count of counts) this.#add(count)
      throw error
    }
  }

  #add(count: Count): void {
    const key = `${count.sourceId} ${count.rejectionReason} ${count.atMs}`
    const known = this.#counts.get(key)
    if (known !== undefined) known.events += count.events
    else if (this.#counts.size < COUNTS_MAX) this.#counts.set(key, count)
  }
}
