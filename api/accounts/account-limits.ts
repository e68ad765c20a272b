import { countRequest } from '../../core/db/accounts/account-limits.ts'
import { networkOf } from '../../core/egress/address.ts'
import { refuse } from '../../core/errors.ts'
import { API_WINDOW_SECONDS } from '../../core/limits.ts'
import type { Deps } from '../deps.ts'

/** Addresses remembered at once; past it the oldest is forgotten, and asked for again. */
const REFUSED_MAX = 10_000

/**
 * How often an address may call `/auth`, over all processes of the API. Whoever was refused is refused from memory until
 * their window ends, so that a flood does not reach the database.
 */
export class AccountLimits {
  readonly #deps: Pick<Deps, 'db' | 'clock' | 'accounts'>
  /** When the window of each ends. */
  readonly #refused = new Map<string, number>()

  constructor(deps: Pick<Deps, 'db' | 'clock' | 'accounts'>) {
    this.#deps = deps
  }

  /** Counts a request. Refuses it with RATE_LIMITED when it is one too many. */
  async take(kind: 'sign-in' | 'other', address: string): Promise<void> {
    const { db, clock, accounts } = this.#deps
    const limit = kind === 'sign-in' ? accounts.signInsPerMinute : accounts.requestsPerMinute
    const scope = `${kind}:${networkOf(address)}`
    const nowMs = clock.now()
    const known = (this.#refused.get(scope) ?? 0) - nowMs
    // A longer wait than a window was remembered before the clock was set back.
    if (known > 0 && known <= API_WINDOW_SECONDS * 1_000) refuseCrowd(limit, known)
    const { requests, startedAt } = await countRequest(db, scope, nowMs)
    if (requests <= limit) return
    const endsAtMs = startedAt.getTime() + API_WINDOW_SECONDS * 1_000
    this.#remember(scope, endsAtMs)
    refuseCrowd(limit, endsAtMs - nowMs)
  }

  #remember(scope: string, endsAtMs: number): void {
    this.#refused.delete(scope)
    this.#refused.set(scope, endsAtMs)
    const [oldest] = this.#refused.keys()
    if (this.#refused.size > REFUSED_MAX && oldest !== undefined) this.#refused.delete(oldest)
  }
}

function refuseCrowd(limit: number, waitMs: number): never {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  const message = `Too many requests from this address: come again in ${retryAfterSeconds} s`
  refuse('RATE_LIMITED', message, { limit, remaining: 0, retryAfterSeconds })
}
