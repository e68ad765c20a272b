import { randomInt } from 'node:crypto'

import type { Clock } from '../../../core/clock.ts'
import type { Db, Pool } from '../../../core/db/connection/db.ts'
import { cannotStore, isDataFault } from '../../../core/db/connection/failures.ts'
import {
  beginDrain,
  endDrains,
  storedIds,
  storeUndelivered,
} from '../../../core/db/events/ingest/spool.ts'
import type { Quota } from '../../../core/db/events/ingest/store-capped-events.ts'
import { LEASE_HELD_MS, holdLease, releaseLease } from '../../../core/db/processes/leases.ts'
import { bytesOfUuid, firstIdAt, newIdBytes, timeOfId, uuidOfBytes } from '../../../core/ids.ts'
import type { SpooledMessage, SpoolReader } from '../../../core/jetstream/spool-reader.ts'
import { decodeSpooled, type SpooledEvent } from '../../../core/jetstream/spooled-event.ts'
import { SPOOL_SHARES } from '../../../core/jetstream/stream-subjects.ts'
import { LEASE_MS } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { EventNotices } from '../../../core/notices/event-notices.ts'
import { dispatch } from '../accept/dispatch.ts'
import type { BatchResult, CountedEvent } from '../accept/event.ts'
import type { Publisher } from '../accept/publisher.ts'
import type { Sources } from '../accept/sources.ts'
import { openBatchStore } from '../accept/store.ts'
import type { IngestTraces } from '../trace/ingest-traces.ts'
import type { Outage } from './outage.ts'
import type { Spool } from './spool.ts'

const BATCH = { limit: 256, bytesMax: 8 * 1024 * 1024 }

/** How far the clocks of ingest processes may be apart: events lie in the spool in the order they reached it. */
const CLOCKS_APART_MS = 60_000

export interface DrainDeps {
  pool: Pool
  db: Db
  clock: Clock
  log: Logger
  name: string
  spool: Spool
  outage: Outage
  sources: Sources
  publisher: Publisher
  traces: IngestTraces | undefined
  notices: EventNotices
  noteEvent(sourceId: string): void
}

/** A message of the spool on its way into PostgreSQL. */
interface Spooled {
  message: SpooledMessage
  spooled: SpooledEvent
  event: CountedEvent
}

/**
 * Stores what was spooled when PostgreSQL is back. Each share is stored oldest first, by one process at a time, by a lease;
 * a process takes the shares one after the other, and others take those that are left. A batch is removed from the spool
 * after its commit; what is found there again is known by its id.
 */
export class Drain {
  readonly #deps: DrainDeps
  readonly #store: ReturnType<typeof openBatchStore>
  /** Shares in which the batch of a process that died in the middle was finished. */
  readonly #tidy = new Set<string>()
  /** Events that this process has stored, and those that PostgreSQL refused. */
  stored = 0
  refused = 0

  constructor(deps: DrainDeps) {
    this.#deps = deps
    this.#store = openBatchStore(deps)
  }

  /** To be called now and then. Returns when each share is empty, or another process or PostgreSQL's absence ends it. */
  async run(signal: AbortSignal): Promise<void> {
    const { spool, outage, log } = this.#deps
    if (!spool.isUsable || outage.isAway) return
    const startedAt = performance.now()
    let events = 0
    try {
      for (const share of inTurn(SPOOL_SHARES)) {
        if (signal.aborted) break
        if (spool.has(share) || !this.#tidy.has(share)) events += await this.#take(share, signal)
      }
    } catch (error) {
      if (!cannotStore(error)) throw error
      outage.begin(error)
    }
    const tookMs = Math.round(performance.now() - startedAt)
    if (events > 0) log.info({ events, tookMs }, 'Stored spooled events')
  }

  /** Drains a share unless another process does. Returns how many events it stored. */
  async #take(share: string, signal: AbortSignal): Promise<number> {
    const { db, name } = this.#deps
    const lease = leaseOf(share)
    const holds = async (): Promise<boolean> =>
      (await holdLease(db, lease, `ingest ${name}`)) !== undefined
    if (!(await holds())) return 0
    const events = await this.#drain(share, { signal, holds })
    await releaseLease(db, lease, `ingest ${name}`)
    return events
  }

  async #drain(
    share: string,
    { signal, holds }: { signal: AbortSignal; holds: () => Promise<boolean> },
  ): Promise<number> {
    const { db, clock, spool } = this.#deps
    await using reader = await spool.read(share)
    let reading = readAhead(reader)
    let events = 0
    let recorded: string | undefined
    let heldAt = performance.now()
    while (!signal.aborted) {
      const messages = await reading
      const last = messages.at(-1)
      if (last === undefined) {
        await endDrains(db, share, clock.now())
        this.#tidy.add(share)
        break
      }
      reading = readAhead(reader)
      const batch = await this.#readable(messages)
      // Before they are stored: readers of new events, who go by the time of their ids, look further back then.
      const oldest = oldestOf(batch)
      if (oldest !== undefined && (recorded === undefined || oldest < recorded)) {
        recorded = firstIdAt(timeOfId(oldest) - CLOCKS_APART_MS)
        await beginDrain(db, { share, oldestId: recorded, nowMs: clock.now() })
      }
      await this.#settle(batch)
      await spool.remove(share, last.sequence)
      events += messages.length
      if (performance.now() - heldAt < LEASE_HELD_MS / 5) continue
      if (!(await holds())) break
      heldAt = performance.now()
    }
    return events
  }

  /** Decodes the events of a batch. Puts an unreadable event of a newer version aside. */
  async #readable(messages: readonly SpooledMessage[]): Promise<Spooled[]> {
    const nowMs = this.#deps.clock.now()
    const batch: Spooled[] = []
    for (const message of messages) {
      const spooled = readable(message)
      if (spooled === undefined) await this.#setAside(message)
      else batch.push({ message, spooled, event: await this.#eventOf(spooled, nowMs) })
    }
    return batch
  }

  async #eventOf(spooled: SpooledEvent, nowMs: number): Promise<CountedEvent> {
    const { class: retentionClass, ...stored } = spooled
    return {
      ...stored,
      retentionClass,
      id: bytesOfUuid(spooled.id),
      dedupeKey: spooled.dedupeKey === null ? null : Buffer.from(spooled.dedupeKey, 'hex'),
      rejectionReason: null,
      rejectionDetail: null,
      leaseUntilMs: nowMs + LEASE_MS,
      // The sweeper walks the ids of deliveries and is past the time of the outage: they are made now.
      deliveries: spooled.deliveries.map((delivery) => ({
        ...delivery,
        id: newIdBytes(nowMs),
      })),
      quota: await this.#quotaOf(spooled, nowMs),
    }
  }

  /** The quota without its limit: deliveries of a capped organisation are counted exactly, but the 200 was given already. */
  async #quotaOf({ maskId }: SpooledEvent, nowMs: number): Promise<Quota | null> {
    const quota = (await this.#deps.sources.get(maskId))?.quotaAt(nowMs) ?? null
    return quota && { ...quota, limit: Number.MAX_SAFE_INTEGER }
  }

  async #settle(batch: readonly Spooled[]): Promise<void> {
    if (batch.length === 0) return
    const known = await storedIds(
      this.#deps.pool,
      batch.map(({ event }) => event),
    )
    const fresh = batch.filter(({ spooled }) => !known.has(spooled.id))
    for (const [, group] of Map.groupBy(fresh, ({ event }) => event.quota === null)) {
      const results = await this.#store(
        group.map(({ event }) => event),
        this.#deps.clock.now(),
      )
      for (const [index, one] of group.entries()) {
        await this.#finish(one, results[index] ?? { kind: 'failed' })
      }
    }
  }

  async #finish(one: Spooled, result: BatchResult): Promise<void> {
    const { notices } = this.#deps
    const { event } = one
    if (result.kind === 'failed') return await this.#refuse(one)
    if (result.kind === 'stored') {
      dispatch(this.#deps, event)
    } else if (!(await this.#keepUndelivered(one))) {
      return
    }
    this.stored++
    this.#deps.noteEvent(event.sourceId)
    notices.note(event.projectId)
  }

  /** Stores an event without deliveries, because another has its key. False if it was stored already or is refused. */
  async #keepUndelivered(one: Spooled): Promise<boolean> {
    const { pool, clock } = this.#deps
    try {
      return await storeUndelivered(pool, one.event, clock.now())
    } catch (error) {
      if (!isDataFault(error)) throw error
      await this.#refuse(one)
      return false
    }
  }

  /** Its id may be refused because a transaction that was given up has stored it in between. */
  async #refuse({ event, message }: Spooled): Promise<void> {
    const isStored = (await storedIds(this.#deps.pool, [event])).has(uuidOfBytes(event.id))
    if (!isStored) await this.#setAside(message)
  }

  async #setAside(message: SpooledMessage): Promise<void> {
    this.#deps.log.error({ sequence: message.sequence }, 'Cannot store a spooled event')
    await this.#deps.spool.setAside(message)
    this.refused++
  }
}

/** The first share is that of earlier versions, whose lease has this name. */
function leaseOf(share: string): string {
  return share === SPOOL_SHARES[0] ? 'spool' : share
}

/** Starts anywhere, so that processes that begin together take different shares. */
function inTurn(shares: readonly string[]): string[] {
  const first = randomInt(shares.length)
  return [...shares.slice(first), ...shares.slice(0, first)]
}

/** The next batch is on its way while one is stored. Its failure counts when it is awaited. */
function readAhead(reader: SpoolReader): Promise<SpooledMessage[]> {
  const reading = reader.next(BATCH)
  reading.catch(() => {})
  return reading
}

function readable(message: SpooledMessage): SpooledEvent | undefined {
  try {
    return decodeSpooled(message.data)
  } catch {
    return undefined
  }
}

/** Not always the first: the clock may have been set back meanwhile. */
function oldestOf(batch: readonly Spooled[]): string | undefined {
  const [oldest] = batch.map(({ spooled }) => spooled.id).toSorted()
  return oldest
}
