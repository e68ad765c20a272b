import type { Db } from '../../../core/db/connection/db.ts'
import { connectionFilters } from '../../../core/db/events/ingest/ingest-sources.ts'
import { giveWay } from '../../../core/loop/turn.ts'
import { compileFilter, storedFilter, type CompiledFilter } from '../../../core/match/filter.ts'

/** Text of the filters that are kept, of all sources: compiled, they take up to seven times as much besides. */
const KEPT_CHARACTERS_MAX = 8 * 1024 * 1024

/** Text of the filters that compiled sources hold, of all organisations. */
const HELD_CHARACTERS_MAX = 16 * 1024 * 1024

/** Filters that one query reads: 1 MiB at most. */
const READ_AT_ONCE = 64

/** A connection whose filter is told by the version of its row; null is none. */
interface Filtered {
  id: string
  filterVersion: string | null
}

/** The filters of a source by connection, and the length of their texts: each that several have counts once. */
export interface SourceFilters {
  byConnection: ReadonlyMap<string, CompiledFilter>
  characters: number
}

interface Kept {
  version: string
  text: string
  filter: CompiledFilter
}

/**
 * Compiled filters by connection. A source has up to hundreds: a change of it reads and compiles only what changed, and
 * the first time is done in pieces between which requests are served.
 */
export class CompiledFilters {
  readonly #db: Db
  readonly #kept = new Map<string, Kept>()
  #characters = 0

  constructor(db: Db) {
    this.#db = db
  }

  /** Undefined when one of the filters has changed since its version was read. */
  async of(connections: readonly Filtered[]): Promise<SourceFilters | undefined> {
    const filters = new Map<string, CompiledFilter>()
    // Connections of one source often have the same filter.
    const byText = new Map<string, CompiledFilter>()
    const missing = new Map<string, string>()
    for (const { id, filterVersion } of connections) {
      if (filterVersion === null) continue
      const kept = this.#kept.get(id)
      if (kept?.version === filterVersion) {
        filters.set(id, kept.filter)
        byText.set(kept.text, kept.filter)
      } else missing.set(id, filterVersion)
    }
    const ids = [...missing.keys()]
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      for (const row of await connectionFilters(this.#db, ids.slice(at, at + READ_AT_ONCE))) {
        if (row.version !== missing.get(row.id) || row.filter === null) continue
        await giveWay()
        const text = row.filter
        const filter = byText.get(text) ?? compileFilter(storedFilter(JSON.parse(text)))
        byText.set(text, filter)
        this.#keep(row.id, { version: row.version, text, filter })
        filters.set(row.id, filter)
        missing.delete(row.id)
      }
    }
    if (missing.size > 0) return undefined
    const characters = [...byText.keys()].reduce((sum, { length }) => sum + length, 0)
    return { byConnection: filters, characters }
  }

  #keep(id: string, kept: Kept): void {
    this.#drop(id)
    this.#kept.set(id, kept)
    this.#characters += kept.text.length
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= KEPT_CHARACTERS_MAX) break
      this.#drop(oldest)
    }
  }

  #drop(id: string): void {
    this.#characters -= this.#kept.get(id)?.text.length ?? 0
    this.#kept.delete(id)
  }
}

/** Length of the filters that a process holds compiled, by the organisation that they belong to. */
export class FilterMemory {
  readonly #characters = new Map<string, number>()
  #total = 0

  add(organisationId: string, characters: number): void {
    if (characters === 0) return
    this.#total += characters
    const sum = (this.#characters.get(organisationId) ?? 0) + characters
    if (sum === 0) this.#characters.delete(organisationId)
    else this.#characters.set(organisationId, sum)
  }

  /** The organisation that has to give some back: the one that has most. Undefined while all fit. */
  debtor(): string | undefined {
    if (this.#total <= HELD_CHARACTERS_MAX) return undefined
    let most: string | undefined
    for (const [id, sum] of this.#characters) {
      if (most === undefined || sum > (this.#characters.get(most) ?? 0)) most = id
    }
    return most
  }
}
