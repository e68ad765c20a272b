import type { Clock } from '../../../core/clock.ts'
import type { Pool } from '../../../core/db/connection/db.ts'
import { isDataFault, isPassing } from '../../../core/db/connection/failures.ts'
import {
  storeCappedEvents,
  type Quota,
} from '../../../core/db/events/ingest/store-capped-events.ts'
import { storeEvents } from '../../../core/db/events/ingest/store-events.ts'
import { newIdBytes, uuidOfBytes } from '../../../core/ids.ts'
import { INGEST_STATEMENT_TIMEOUT_MS, LEASE_MS } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type {
  BatchResult,
  CountedEvent,
  Fallback,
  Incoming,
  StampedEvent,
  StoreResult,
} from './event.ts'

interface StoreDeps {
  pool: Pool
  clock: Clock
  log: Logger
}

/** A statement that lost a deadlock is run again this often. */
const TRIES = 4

/**
 * Makes the function that stores requests. Throws only when PostgreSQL could not be reached or could not commit, and
 * there is no `fallback` that takes them.
 */
export function openStore(
  deps: StoreDeps,
  fallback?: Fallback,
): (events: Incoming[]) => Promise<StoreResult[]> {
  const storeBatch = openBatchStore(deps)
  const store = async (events: readonly StampedEvent[], nowMs: number): Promise<StoreResult[]> => {
    const write = (): Promise<StoreResult[]> => storeBatch(events, nowMs)
    return fallback === undefined ? await write() : await fallback.store(events, write)
  }

  return async (incoming) => {
    const nowMs = deps.clock.now()
    const events = stamp(incoming, nowMs)
    const capped = events.filter((event) => event.quota !== null)
    if (capped.length === 0 || capped.length === events.length) return await store(events, nowMs)
    const free = events.filter((event) => event.quota === null)
    const results = new Map<StampedEvent, StoreResult>()
    for (const group of [free, capped]) {
      // If one group is committed and the other fails, each event still gets the right answer.
      const stored = await store(group, nowMs).catch((err: unknown) => {
        deps.log.warn({ err }, 'Cannot store a batch')
        return group.map((): StoreResult => ({ kind: 'failed' }))
      })
      for (const [index, event] of group.entries()) {
        results.set(event, stored[index] ?? { kind: 'failed' })
      }
    }
    return events.map((event) => results.get(event) ?? { kind: 'failed' })
  }
}

/**
 * Makes the function that stores events all of which, or none, have a quota. Throws what PostgreSQL threw when it could
 * not be reached or could not commit: some of them may be stored then.
 */
export function openBatchStore(
  deps: StoreDeps,
): (events: readonly CountedEvent[], nowMs: number) => Promise<BatchResult[]> {
  const write = async (events: readonly CountedEvent[], nowMs: number): Promise<BatchResult[]> => {
    if (events.every((event) => event.quota === null)) {
      // Nearly always there are none, and no id is written out to be looked for.
      const duplicates = await storeEvents(deps.pool, events, { nowMs })
      return events.map((event) =>
        duplicates.size > 0 && duplicates.has(uuidOfBytes(event.id))
          ? { kind: 'duplicate' }
          : { kind: 'stored', event },
      )
    }
    return await storeCappedEvents(deps.pool, events.map(withQuota), nowMs)
  }

  const storeBatch = async (
    events: readonly CountedEvent[],
    nowMs: number,
  ): Promise<BatchResult[]> => {
    try {
      return await retried(() => write(events, nowMs))
    } catch (error) {
      if (!isDataFault(error)) throw error
      if (events.length === 1) {
        deps.log.error({ err: error, sourceId: events[0]?.sourceId }, 'Cannot store an event')
        return [{ kind: 'failed' }]
      }
      // A faulty event must not cost its neighbours anything: halve the batch until it is alone.
      const middle = events.length >> 1
      return [
        ...(await storeBatch(events.slice(0, middle), nowMs)),
        ...(await storeBatch(events.slice(middle), nowMs)),
      ]
    }
  }
  return storeBatch
}

/**
 * Ids are made as late as can be: readers of new events allow them milliseconds between being made and being seen. A
 * delivery is counted in the window that its id's time is in.
 */
function stamp(incoming: readonly Incoming[], nowMs: number): StampedEvent[] {
  return incoming.map((event) => ({
    ...event,
    id: newIdBytes(nowMs),
    quota: event.quotaAt(nowMs),
    leaseUntilMs: nowMs + LEASE_MS,
    deliveries: event.deliveries.map((delivery) => ({ ...delivery, id: newIdBytes(nowMs) })),
  }))
}

function withQuota(event: CountedEvent): CountedEvent & { quota: Quota } {
  if (event.quota === null) throw new Error('Cannot count an event without a quota')
  return { ...event, quota: event.quota }
}

/** Readers of new events go by ids and allow 15 s between an id and its commit: tries end long before. */
async function retried<T>(act: () => Promise<T>): Promise<T> {
  const until = performance.now() + INGEST_STATEMENT_TIMEOUT_MS
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (!isPassing(error) || tries === TRIES || performance.now() > until) throw error
    }
  }
}
