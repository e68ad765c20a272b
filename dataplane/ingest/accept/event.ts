import type { Quota, Stored } from '../../../core/db/events/ingest/store-capped-events.ts'
import type { NewDelivery, NewEvent } from '../../../core/db/events/ingest/store-events.ts'
import type { Headers } from '../../../core/request/headers.ts'

/** A request of a sender, without its body. */
export interface IngestRequest {
  method: string
  maskId: string
  /** The path after the mask id; `/` if empty. */
  path: string
  /** The whole path, mask id included. */
  fullPath: string
  /** Raw, without the question mark. */
  query: string
  /** Joined, as binary strings. */
  headers: Headers
  /** As they came. */
  rawHeaders: readonly [string, string][]
  remoteIp: string
}

/** An event to store. It gets its ids and its lease when its batch goes out, however long it waited for a lane. */
export type Incoming = Omit<NewEvent, 'id' | 'leaseUntilMs' | 'deliveries'> & {
  deliveries: readonly Omit<NewDelivery, 'id'>[]
  /** For the spool, which looks the quota up again when the event is stored. */
  maskId: string
  /** The quota of a hard-capped organisation at a moment. */
  quotaAt: (nowMs: number) => Quota | null
}

/** An event as its statement takes it. */
export type CountedEvent = NewEvent & { quota: Quota | null }

/** With its ids, its lease and its quota. */
export type StampedEvent = Incoming & CountedEvent

/**
 * The outcome of an event. `failed`: PostgreSQL refused it alone, after its neighbours were stored, or the spool refused
 * it. `spooled`: it is stored when PostgreSQL is back.
 */
export type StoreResult = BatchResult | { kind: 'spooled'; id: Buffer }

export type BatchResult = Stored | { kind: 'failed' }

/** Takes events while PostgreSQL is away, and lets `write` store them while it is not. */
export interface Fallback {
  store(
    events: readonly StampedEvent[],
    write: () => Promise<StoreResult[]>,
  ): Promise<StoreResult[]>
}
