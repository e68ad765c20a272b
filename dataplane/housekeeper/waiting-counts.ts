import type { Clock } from '../../core/clock.ts'
import type { Db } from '../../core/db/db.ts'
import { readWatermark } from '../../core/db/deliveries/sweep.ts'
import { recountWaiting } from '../../core/db/deliveries/waiting-counts.ts'
import { firstIdAt } from '../../core/ids.ts'
import { INGEST_STATEMENT_TIMEOUT_MS } from '../../core/limits.ts'

/** A first attempt that has not ended after this long waits. */
const MOMENT_MS = 1_000

/** A delivery that is younger may not be committed yet. */
const SETTLED_MS = INGEST_STATEMENT_TIMEOUT_MS + 1_000

/** Pauses, in durations of a count: a thirtieth of one core at most. A million rows take about half a second. */
const PAUSES = 29
const PAUSE_MAX_MS = 30_000

/**
 * Counts what waits, again and again and from the rows themselves: nothing can drift, and no write of the hot path
 * carries a counter. The longer counts take, the longer the next one is put off; one that was slow by chance is not
 * taken for the rule.
 */
export class WaitingCounts {
  readonly #db: Db
  readonly #clock: Clock
  #fromId: string | undefined
  /** On the monotonic clock. */
  #dueAt = 0
  #lastMs = 0

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  async recount(): Promise<void> {
    const startedAt = performance.now()
    if (startedAt < this.#dueAt) return
    const nowMs = this.#clock.now()
    const watermark = await readWatermark(this.#db)
    if (this.#fromId === undefined || watermark > this.#fromId) this.#fromId = watermark
    const untilId = firstIdAt(nowMs - MOMENT_MS)
    const first = await recountWaiting(this.#db, { fromId: this.#fromId, untilId })
    const settledId = firstIdAt(nowMs - SETTLED_MS)
    // Below the first that waits all is done, except for what is not committed yet.
    const walkedTo = first !== undefined && first < settledId ? first : settledId
    if (walkedTo > this.#fromId) this.#fromId = walkedTo
    const endedAt = performance.now()
    const tookMs = endedAt - startedAt
    this.#dueAt = endedAt + Math.min(PAUSE_MAX_MS, Math.min(tookMs, this.#lastMs) * PAUSES)
    this.#lastMs = tookMs
  }
}
