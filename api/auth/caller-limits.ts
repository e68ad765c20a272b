import type { Db } from '../../core/db/connection/db.ts'
import { takeAllowance, type Allowance } from '../../core/db/connectors/public-limits.ts'
import { refuse } from '../../core/errors.ts'
import {
  BOOTSTRAP_SECONDS,
  HEARTBEAT_SECONDS,
  PUBLIC_REQUESTS_BURST,
  PUBLIC_REQUESTS_PER_SECOND,
  SAMPLE_SECONDS,
  SAMPLES_BURST,
} from '../../core/limits.ts'

/** Callers remembered at once; past it the oldest is forgotten, and asked for again. */
const CALLERS_MAX = 10_000

const ALLOWANCES = {
  address: { burst: PUBLIC_REQUESTS_BURST, intervalMs: 1_000 / PUBLIC_REQUESTS_PER_SECOND },
  bootstrap: { burst: 1, intervalMs: BOOTSTRAP_SECONDS * 1_000 },
  heartbeat: { burst: 1, intervalMs: HEARTBEAT_SECONDS * 1_000 },
  sample: { burst: SAMPLES_BURST, intervalMs: SAMPLE_SECONDS * 1_000 },
} satisfies Record<string, Allowance>

/**
 * How often callers of the public endpoints may come, and how often a source gets a sample, over all processes of the API.
 * Whoever was refused is refused from memory until its time has come, so that a flood does not reach the database.
 */
export class CallerLimits {
  /** When each may come again, on the monotonic clock. */
  readonly #refused = new Map<string, number>()

  /** Counts a request. Refuses it with RATE_LIMITED when it is one too many. */
  async take(db: Db, kind: keyof typeof ALLOWANCES, caller: string): Promise<void> {
    const scope = `${kind}:${caller}`
    const { burst } = ALLOWANCES[kind]
    const known = (this.#refused.get(scope) ?? 0) - performance.now()
    if (known > 0) refuseCrowd(burst, known)
    const waitMs = await takeAllowance(db, scope, ALLOWANCES[kind])
    if (waitMs === 0) return
    this.#remember(scope, performance.now() + waitMs)
    refuseCrowd(burst, waitMs)
  }

  #remember(scope: string, at: number): void {
    this.#refused.delete(scope)
    this.#refused.set(scope, at)
    const [oldest] = this.#refused.keys()
    if (this.#refused.size > CALLERS_MAX && oldest !== undefined) this.#refused.delete(oldest)
  }
}

function refuseCrowd(limit: number, waitMs: number): never {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  const message = `Too many requests: come again in ${retryAfterSeconds} s`
  refuse('RATE_LIMITED', message, { limit, remaining: 0, retryAfterSeconds })
}
