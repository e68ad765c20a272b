import {
  isNewcomers,
  type OrganisationShares,
} from '../core/db/configuration/organisation-shares.ts'
import type { Db } from '../core/db/connection/db.ts'
import { READS_PER_ORGANISATION, READS_POOL, READS_WAITING_MAX } from '../core/limits.ts'
import { Semaphore } from '../core/pacing/semaphore.ts'
import { TooManyRequests } from './auth/rate-limit.ts'

const RETRY_AFTER_SECONDS = 1

/**
 * Searches, counts and statistics: each may take a second or two of a database connection. They have connections of their
 * own, so that whoever asks for a row never waits behind them, and an organisation has a share of these.
 */
export class SharedReads {
  readonly #db: Db
  readonly #shares: OrganisationShares
  readonly #turns = new Map<string, Semaphore>()
  /** All newcomers together: organisations that cost nothing, from as many networks as a stranger has. */
  readonly #newcomers = new Semaphore(READS_POOL / 2)

  constructor(db: Db, shares: OrganisationShares) {
    this.#db = db
    this.#shares = shares
  }

  /** Waits for its turn. Refuses when too many of the organisation wait already. */
  async run<T>(organisationId: string, read: (db: Db) => Promise<T>): Promise<T> {
    const share = await this.#shares.of(organisationId)
    const turns = this.#turns.get(share) ?? new Semaphore(READS_PER_ORGANISATION)
    this.#turns.set(share, turns)
    if (turns.waiting >= READS_WAITING_MAX) {
      throw new TooManyRequests(
        `More than ${READS_WAITING_MAX} searches and counts of the organisation wait already`,
        RETRY_AFTER_SECONDS,
      )
    }
    try {
      const run = async (): Promise<T> => await read(this.#db)
      return await turns.take(isNewcomers(share) ? () => this.#newcomers.take(run) : run)
    } finally {
      if (turns.isIdle) this.#turns.delete(share)
    }
  }
}
