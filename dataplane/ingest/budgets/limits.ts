import { z } from 'zod'

import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import { isConnected, type NatsConnection } from '../../../core/nats.ts'
import { INGEST_COUNTS } from '../../../core/notices/notice-subjects.ts'
import {
  admit,
  spend,
  type Admission,
  type IngestState,
} from '../../../core/pacing/ingest-limit.ts'

/** How often ingest processes publish what they took: 1 % of the time over which a limit must hold. */
const EXCHANGE_MS = 100

/** Limits in memory. The least recently made give way: a limit unused for a second is full anyway. */
const LIMITS_MAX = 100_000

/** Counts of one message: 300 KB, less than NATS takes at the least. */
const COUNTS_MAX = 5_000

const Counts = z.object({
  from: z.string(),
  counts: z.array(z.tuple([z.string(), z.number().int().positive(), z.number().positive()])),
})

interface Limit {
  state: IngestState
  perSecond: number
}

/** Requests taken here since the last exchange. */
interface Taken {
  count: number
  perSecond: number
}

/** A source as its limits see it. */
interface LimitedSource {
  id: string
  organisationId: string
  /** Requests per second; 0 is unlimited. */
  rateLimit: number
  /** Requests per second of the organisation; null is unlimited. */
  clamp: number | null
}

/** A limit that refuses a request. */
export interface Reached {
  perSecond: number
  admission: Extract<Admission, { allowed: false }>
}

/**
 * The limits of sources and organisations. Each process decides at once by what it knows, and what the others took
 * arrives a tenth of a second later as if it had been taken here. (decisions: Ingest, "Across ingest replicas")
 */
export class IngestLimits implements Disposable {
  readonly #deps: { nats: NatsConnection; clock: Clock; log: Logger; processId: string }
  readonly #limits = new Map<string, Limit>()
  /** Apart from the limits, so that an exchange costs what was taken, however many limits there are. */
  readonly #taken = new Map<string, Taken>()
  /** Runs while counts are to be published. */
  #exchange: NodeJS.Timeout | undefined

  constructor(deps: { nats: NatsConnection; clock: Clock; log: Logger; processId: string }) {
    this.#deps = deps
    deps.nats.subscribe(INGEST_COUNTS, {
      callback: (error, message) => {
        if (error === null) this.#apply(message.string())
      },
    })
  }

  /** Takes one request from the scope's limit. */
  take(scopeId: string, perSecond: number): Admission {
    const limit = this.#limitOf(scopeId, perSecond)
    const admission = admit(limit.state, perSecond, this.#deps.clock.now())
    if (admission.allowed) {
      limit.state.tatMs = admission.tatMs
      this.#note(scopeId, perSecond)
      this.#exchange ??= setTimeout(() => this.#publish(), EXCHANGE_MS)
    }
    return admission
  }

  /** The first limit that the source or its organisation has reached; undefined: one request was taken from each. */
  takeOf(source: LimitedSource): Reached | undefined {
    return (
      (source.rateLimit > 0 ? this.#reached(source.id, source.rateLimit) : undefined) ??
      (source.clamp === null ? undefined : this.#reached(source.organisationId, source.clamp))
    )
  }

  #reached(scopeId: string, perSecond: number): Reached | undefined {
    const admission = this.take(scopeId, perSecond)
    return admission.allowed ? undefined : { perSecond, admission }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#exchange)
  }

  #limitOf(scopeId: string, perSecond: number): Limit {
    let limit = this.#limits.get(scopeId)
    if (limit === undefined) {
      if (this.#limits.size >= LIMITS_MAX) {
        for (const oldest of this.#limits.keys()) {
          this.#limits.delete(oldest)
          break
        }
      }
      limit = { state: { tatMs: 0 }, perSecond }
      this.#limits.set(scopeId, limit)
    }
    limit.perSecond = perSecond
    return limit
  }

  #note(scopeId: string, perSecond: number): void {
    const taken = this.#taken.get(scopeId)
    if (taken === undefined) {
      this.#taken.set(scopeId, { count: 1, perSecond })
    } else {
      taken.count++
      taken.perSecond = perSecond
    }
  }

  #publish(): void {
    this.#exchange = undefined
    const counts = Array.from(
      this.#taken,
      ([scopeId, { count, perSecond }]) => [scopeId, count, perSecond] as const,
    )
    this.#taken.clear()
    const { nats, processId } = this.#deps
    if (!isConnected(nats)) return
    for (let from = 0; from < counts.length; from += COUNTS_MAX) {
      const part = counts.slice(from, from + COUNTS_MAX)
      nats.publish(INGEST_COUNTS, JSON.stringify({ from: processId, counts: part }))
    }
  }

  #apply(text: string): void {
    const { from, counts } = Counts.parse(JSON.parse(text))
    if (from === this.#deps.processId) return
    const nowMs = this.#deps.clock.now()
    for (const [scopeId, count, perSecond] of counts) {
      const limit = this.#limitOf(scopeId, perSecond)
      limit.state.tatMs = spend(limit.state, perSecond, { count, nowMs })
    }
  }
}
