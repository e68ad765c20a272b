import type { Db } from '../../../core/db/connection/db.ts'
import {
  findDeliveryDestination,
  readPacing,
} from '../../../core/db/deliveries/work/delivery-destinations.ts'
import type { Pacer } from '../pacing/pacer.ts'
import { compileDestination, type CompileDeps, type Destination } from '../send/destination.ts'

export interface DestinationsDeps extends CompileDeps {
  db: Db
  pacer: Pacer
}

/** Compiled destinations by id, loaded when first needed and kept until forgotten. */
export class Destinations {
  readonly #deps: DestinationsDeps
  readonly #loaded = new Map<string, Promise<Destination | undefined>>()

  constructor(deps: DestinationsDeps) {
    this.#deps = deps
  }

  /** Undefined when the destination was deleted. Rejects while PostgreSQL is away, and is tried again then. */
  get(id: string): Promise<Destination | undefined> {
    const known = this.#loaded.get(id)
    if (known !== undefined) return known
    const loading = this.#load(id)
    this.#loaded.set(id, loading)
    loading.catch(() => {
      if (this.#loaded.get(id) === loading) this.#loaded.delete(id)
    })
    return loading
  }

  forget(id: string): void {
    this.#loaded.delete(id)
  }

  /** Forgets all destinations and their pace, because another worker may send to them for a time. */
  forgetAll(): void {
    this.#loaded.clear()
  }

  async #load(id: string): Promise<Destination | undefined> {
    const { db, keyring, plans, isAllowed, pacer } = this.#deps
    const row = await findDeliveryDestination(db, id)
    if (row === undefined) return undefined
    const stored = await readPacing(db, [id, row.organisationId])
    for (const [scopeId, tatMs] of stored) pacer.restore(scopeId, tatMs)
    return compileDestination(row, { keyring, plans, isAllowed })
  }
}
