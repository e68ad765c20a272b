import type { Db } from '../db/connection/db.ts'
import type { MovedRow, RowsOf } from '../db/moving/moved-tables.ts'
import {
  claimMovedKeys,
  countEvents,
  insertRows,
  missingEvents,
  placeWaiting,
  queueOpen,
  setFiltered,
} from '../db/moving/write-organisation.ts'

export interface EventPageDeps {
  organisationId: string
  partitionOf: (destinationId: string) => number
  now: Date
  /** Its events came after the counts that were exported. */
  isCounted: boolean
}

/**
 * A page of events in its transaction. An event that is here stays as it is, with its deliveries; one whose key another event
 * has claimed here is a repeat, and gets none.
 */
export class EventPage {
  readonly #tx: Db
  readonly #deps: EventPageDeps
  readonly #added = new Set<string>()
  readonly #delivered = new Set<string>()
  readonly #deliveries = new Set<string>()

  constructor(tx: Db, deps: EventPageDeps) {
    this.#tx = tx
    this.#deps = deps
  }

  async add(table: string, rows: readonly MovedRow[]): Promise<void> {
    if (table === 'event') return await this.#addEvents(rows)
    if (table === 'dedupe_key') return await this.#claimKeys(rows)
    if (table === 'delivery') return await this.#addDeliveries(rows)
    const theirs = rows.filter((row) => this.#deliveries.has(String(row['delivery_id'])))
    await insertRows(this.#tx, table, theirs, { of: this.#of(this.#delivered) })
  }

  /** Call it behind the last rows. */
  async end(): Promise<void> {
    const { now, partitionOf, isCounted } = this.#deps
    const delivered = this.#of(this.#delivered)
    await queueOpen(this.#tx, delivered, now)
    await placeWaiting(this.#tx, delivered.eventIds, { partitionOf, now })
    if (isCounted) await countEvents(this.#tx, this.#of(this.#added))
  }

  async #addEvents(rows: readonly MovedRow[]): Promise<void> {
    const missing = await missingEvents(this.#tx, rows.map(idOf))
    const added = rows.filter((row) => missing.has(idOf(row)))
    for (const id of missing) {
      this.#added.add(id)
      this.#delivered.add(id)
    }
    await insertRows(this.#tx, 'event', added, { of: this.#of(missing) })
  }

  async #claimKeys(rows: readonly MovedRow[]): Promise<void> {
    const own = rows.filter((row) => this.#added.has(String(row['event_id'])))
    const repeats = await claimMovedKeys(this.#tx, own)
    for (const id of repeats) this.#delivered.delete(id)
    await setFiltered(this.#tx, [...repeats])
  }

  async #addDeliveries(rows: readonly MovedRow[]): Promise<void> {
    const theirs = rows.filter((row) => this.#delivered.has(String(row['event_id'])))
    for (const row of theirs) this.#deliveries.add(idOf(row))
    await insertRows(this.#tx, 'delivery', theirs, { of: this.#of(this.#delivered) })
  }

  #of(eventIds: ReadonlySet<string>): Required<RowsOf> {
    return { organisationId: this.#deps.organisationId, eventIds: [...eventIds] }
  }
}

function idOf(row: MovedRow): string {
  return String(row['id'])
}
