import type { Clock } from '../../../core/clock.ts'
import { addSecretUses, type SecretUses } from '../../../core/db/configuration/secret-usage.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { answerFlushes } from '../../../core/notices/ask-secret-usage.ts'
import type { Slot } from '../../../core/verify/request/signed-request.ts'
import type { IngestSource } from '../accept/sources.ts'

interface SecretUsageDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  processId: string
}

/**
 * Which secret verified the requests of each source under rotation, gathered here and added to PostgreSQL's sums now
 * and then, and whenever the management API asks. Holds one entry a rotation that was read from PostgreSQL, so it
 * cannot grow while that is away.
 */
export class SecretUsage {
  readonly #deps: SecretUsageDeps
  #uses = new Map<string, SecretUses>()
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: SecretUsageDeps) {
    this.#deps = deps
    void answerFlushes(deps, deps.processId, () => this.flush())
  }

  /** A secret that verified outside a rotation is not counted: there is nothing to tell it from. */
  note(source: IngestSource, slot: Slot | null): void {
    const nowMs = this.#deps.clock.now()
    const rotationId = source.overlap?.rotationId ?? null
    if (slot === null || rotationId === null || !isInOverlap(source, nowMs)) return
    const use = this.#of(source.id, rotationId)[slot]
    use.count++
    use.lastSeenAtMs = nowMs
  }

  /** Writes all counts noted so far; they stay for the next time if that fails. */
  flush(): Promise<void> {
    const write = async (): Promise<void> => await this.#write()
    // A write under way may hold counts that the caller waits for; if it failed they are back for this one.
    this.#writing = this.#writing.then(write, write)
    return this.#writing
  }

  async #write(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await addSecretUses(this.#deps.db, [...uses.values()])
    } catch (error) {
      this.#keep(uses.values())
      throw error
    }
  }

  #keep(unwritten: Iterable<SecretUses>): void {
    for (const uses of unwritten) {
      const kept = this.#of(uses.sourceId, uses.rotationId)
      for (const slot of ['current', 'previous'] as const) {
        kept[slot].count += uses[slot].count
        kept[slot].lastSeenAtMs ??= uses[slot].lastSeenAtMs
      }
    }
  }

  #of(sourceId: string, rotationId: string): SecretUses {
    let uses = this.#uses.get(rotationId)
    if (uses === undefined) {
      const none = { count: 0, lastSeenAtMs: null }
      uses = { sourceId, rotationId, current: { ...none }, previous: { ...none } }
      this.#uses.set(rotationId, uses)
    }
    return uses
  }
}

/** Whether the source's previous secret still verifies. */
export function isInOverlap({ overlap }: IngestSource, nowMs: number): boolean {
  return overlap !== undefined && overlap.untilMs > nowMs
}
