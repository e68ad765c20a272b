import type { Db } from '../../../core/db/connection/db.ts'
import {
  deliveryDestinations,
  readPacing,
  toDestinationRow,
  type StoredDestination,
} from '../../../core/db/deliveries/work/delivery-destinations.ts'
import { DESTINATIONS_MAX } from '../../../core/limits.ts'
import type { Pacer } from '../pacing/pacer.ts'
import { compileDestination, type CompileDeps, type Destination } from '../send/destination.ts'

export interface DestinationsDeps extends CompileDeps {
  db: Db
  pacer: Pacer
  /** Destinations that are kept; `DESTINATIONS_MAX` unless a test sets it. */
  destinationsMax?: number | undefined
}

interface Kept {
  destination: Promise<Destination | undefined>
  /** Undefined while it is read, and of a deleted destination. */
  organisationId: string | undefined
}

/**
 * Compiled destinations by id, loaded when first needed and kept until forgotten. Past the limit the least recently used
 * is dropped and read again when it is needed: an open lane has its own reference.
 */
export class Destinations {
  readonly #deps: DestinationsDeps
  readonly #max: number
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>()

  constructor(deps: DestinationsDeps) {
    this.#deps = deps
    this.#max = deps.destinationsMax ?? DESTINATIONS_MAX
  }

  /** Undefined when the destination was deleted. Rejects while PostgreSQL is away, and is tried again then. */
  get(id: string): Promise<Destination | undefined> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return this.#keep(id, this.#read([id]))
    this.#kept.delete(id)
    this.#kept.set(id, kept)
    return kept.destination
  }

  /** Reads together those of the destinations that are not kept. */
  load(ids: readonly string[]): void {
    const missing = ids.filter((id) => !this.#kept.has(id))
    if (missing.length === 0) return
    const reading = this.#read(missing)
    for (const id of missing) void this.#keep(id, reading)
  }

  /** Whether a later read has taken the place of this one. */
  hasOther(id: string, reading: Promise<Destination | undefined>): boolean {
    const kept = this.#kept.get(id)
    return kept !== undefined && kept.destination !== reading
  }

  forget(id: string): void {
    this.#kept.delete(id)
  }

  /** Forgets those of some organisations, and those that are being read. */
  forgetOrganisations(organisationIds: ReadonlySet<string>): void {
    for (const [id, { organisationId }] of this.#kept) {
      if (organisationId === undefined || organisationIds.has(organisationId)) this.#kept.delete(id)
    }
  }

  /** Forgets all destinations and their pace, because another worker may send to them for a time. */
  forgetAll(): void {
    this.#kept.clear()
  }

  #keep(
    id: string,
    reading: Promise<Map<string, StoredDestination>>,
  ): Promise<Destination | undefined> {
    const kept: Kept = {
      destination: reading.then((stored) => this.#compile(stored.get(id))),
      organisationId: undefined,
    }
    this.#kept.set(id, kept)
    kept.destination.then(
      (destination) => (kept.organisationId = destination?.organisationId),
      () => {
        if (this.#kept.get(id) === kept) this.#kept.delete(id)
      },
    )
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > this.#max && oldest !== undefined) this.#kept.delete(oldest)
    return kept.destination
  }

  async #read(ids: readonly string[]): Promise<Map<string, StoredDestination>> {
    const { db, pacer } = this.#deps
    const rows = await deliveryDestinations(db, ids)
    const scopes = new Set(rows.flatMap(({ id, organisationId }) => [id, organisationId]))
    const stored = await readPacing(db, [...scopes])
    for (const [scopeId, tatMs] of stored) pacer.restore(scopeId, tatMs)
    return new Map(rows.map((row) => [row.id, row]))
  }

  #compile(stored: StoredDestination | undefined): Destination | undefined {
    return stored && compileDestination(toDestinationRow(stored), this.#deps)
  }
}
