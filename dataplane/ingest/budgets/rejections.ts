import { DAY_MS, type Clock } from '../../../core/clock.ts'
import {
  REJECTED_BURST,
  REJECTED_BYTES_BURST,
  REJECTED_BYTES_PER_DAY,
  REJECTED_BYTES_PER_SECOND,
  REJECTED_PER_SECOND,
} from '../../../core/limits.ts'

/** Sources and organisations with a budget in memory. */
const BUDGETS_MAX = 100_000

interface Budget {
  events: number
  bytes: number
  atMs: number
}

/**
 * Decides which rejected requests are stored: enough to find a fault, never so many that somebody who knows a mask id
 * can fill the disk. Requests past the budget are still counted and answered. (decisions: Ingest, Rejected events)
 */
export class Rejections {
  readonly #clock: Clock
  readonly #sources = new Map<string, Budget>()
  readonly #organisations = new Map<string, { day: number; bytes: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a rejected request of this size may be stored; takes it from the budgets if so. */
  take(sourceId: string, organisationId: string, bytes: number): boolean {
    const budget = this.#budgetOf(sourceId)
    const day = this.#dayOf(organisationId)
    if (budget.events < 1 || budget.bytes < bytes) return false
    if (day.bytes + bytes > REJECTED_BYTES_PER_DAY) return false
    budget.events -= 1
    budget.bytes -= bytes
    day.bytes += bytes
    return true
  }

  #budgetOf(sourceId: string): Budget {
    const nowMs = this.#clock.now()
    const known = this.#sources.get(sourceId)
    if (known === undefined) {
      const full = { events: REJECTED_BURST, bytes: REJECTED_BYTES_BURST, atMs: nowMs }
      if (this.#sources.size >= BUDGETS_MAX) this.#sources.clear()
      this.#sources.set(sourceId, full)
      return full
    }
    const seconds = Math.max(0, nowMs - known.atMs) / 1_000
    known.events = Math.min(REJECTED_BURST, known.events + seconds * REJECTED_PER_SECOND)
    known.bytes = Math.min(REJECTED_BYTES_BURST, known.bytes + seconds * REJECTED_BYTES_PER_SECOND)
    known.atMs = nowMs
    return known
  }

  #dayOf(organisationId: string): { day: number; bytes: number } {
    const day = Math.floor(this.#clock.now() / DAY_MS)
    const known = this.#organisations.get(organisationId)
    if (known?.day === day) return known
    const fresh = { day, bytes: 0 }
    if (this.#organisations.size >= BUDGETS_MAX) this.#organisations.clear()
    this.#organisations.set(organisationId, fresh)
    return fresh
  }
}
