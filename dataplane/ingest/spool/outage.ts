import type { Db } from '../../../core/db/connection/db.ts'
import { cannotStore } from '../../../core/db/connection/failures.ts'
import { reportProcess, type ProcessIdentity } from '../../../core/db/processes/processes.ts'
import { uuidOfBytes } from '../../../core/ids.ts'
import type { SpooledEvent } from '../../../core/jetstream/spooled-event.ts'
import type { Logger } from '../../../core/log.ts'
import { within } from '../../../core/within.ts'
import type { Fallback, StampedEvent, StoreResult } from '../accept/event.ts'
import type { Spool } from './spool.ts'

/** A statement is given up by PostgreSQL after 5 s; one that is not even refused by then has nobody at its other end. */
const STORE_WAIT_MS = 6_000

const PROBE_WAIT_MS = 2_000

interface OutageDeps {
  db: Db
  /** Its row is what a probe writes. */
  identity: ProcessIdentity
  spool: Spool
  log: Logger
}

/** It did not answer in time; it may still do what it was asked. */
class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/**
 * Whether PostgreSQL is away, and what happens to events meanwhile. The first batch that fails says that it is; from
 * then on no request waits for it, until a probe of our own has written something.
 */
export class Outage implements Fallback {
  readonly #deps: OutageDeps
  #sinceMs: number | undefined
  #probing: Promise<void> | undefined

  constructor(deps: OutageDeps) {
    this.#deps = deps
  }

  get isAway(): boolean {
    return this.#sinceMs !== undefined
  }

  /** Stores the batch, or spools it under the same ids: what PostgreSQL has committed unheard is known by them. */
  async store(
    events: readonly StampedEvent[],
    write: () => Promise<StoreResult[]>,
  ): Promise<StoreResult[]> {
    if (!this.isAway) {
      try {
        return await within(STORE_WAIT_MS, write(), failUnanswered)
      } catch (error) {
        if (!isAway(error)) throw error
        this.begin(error)
      }
    }
    const kept = await Promise.allSettled(events.map((event) => this.#keep(event)))
    const failure = kept.find((result) => result.status === 'rejected')
    if (failure !== undefined) {
      const failed = kept.filter((result) => result.status === 'rejected').length
      this.#deps.log.warn({ err: failure.reason, events: failed }, 'Cannot spool events')
    }
    return kept.map((one) => (one.status === 'fulfilled' ? one.value : { kind: 'failed' }))
  }

  /** To be called now and then. */
  async probe(): Promise<void> {
    if (!this.isAway) return
    const { db, identity } = this.#deps
    // A probe commits a row as events do: a transaction without one neither flushes nor waits for a standby, and would pass
    // while no event can be stored. Run a single probe at a time: one that hangs keeps a connection.
    this.#probing ??= reportProcess(db, identity).finally(() => (this.#probing = undefined))
    try {
      await within(PROBE_WAIT_MS, this.#probing, failUnanswered)
    } catch (error) {
      if (isAway(error)) return
      throw error
    }
    const awayMs = Math.round(performance.now() - (this.#sinceMs ?? 0))
    this.#sinceMs = undefined
    this.#deps.log.info({ awayMs }, 'PostgreSQL is back: storing spooled events')
  }

  begin(err: unknown): void {
    if (this.isAway) return
    this.#sinceMs = performance.now()
    this.#deps.log.warn({ err }, 'PostgreSQL is away: spooling events')
  }

  async #keep(event: StampedEvent): Promise<StoreResult> {
    if (event.status === 'rejected') return { kind: 'failed' }
    const spooled = spooledOf(event, event.status)
    const outcome = await this.#deps.spool.keep(spooled)
    return outcome === 'duplicate' ? { kind: 'duplicate' } : { kind: 'spooled', id: event.id }
  }
}

/** Whether the error says that PostgreSQL is away, or it said nothing at all. */
function isAway(error: unknown): boolean {
  return error instanceof Unanswered || cannotStore(error)
}

function failUnanswered(): never {
  throw new Unanswered('PostgreSQL does not answer')
}

function spooledOf(event: StampedEvent, status: SpooledEvent['status']): SpooledEvent {
  const {
    rejectionReason: _,
    rejectionDetail: _detail,
    leaseUntilMs: _lease,
    quota: _quota,
    quotaAt: _at,
    retentionClass,
    ...rest
  } = event
  return {
    ...rest,
    class: retentionClass,
    status,
    id: uuidOfBytes(event.id),
    dedupeKey: event.dedupeKey?.toString('hex') ?? null,
    deliveries: event.deliveries.map(({ connectionId, destinationId, maxAttempts, partition }) => ({
      connectionId,
      destinationId,
      maxAttempts,
      partition,
    })),
  }
}
