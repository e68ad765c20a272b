import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import type { Logger } from '../../core/log.ts'
import type { ListRoom, Taken } from './list-room.ts'
import type { Body, RelayClient } from './relay-client.ts'
import { AnswerTooLong, NotPostern, RelayAway } from './relay-error.ts'

const PAGE = 100
/** Resources may be large: where a page is longer than an answer may be, it is asked for in smaller ones. */
const PAGE_MIN = 5
const PAGES_MAX = 400
/** At rest a key has fewer than twelve calls a minute. */
const REST_PAGE_MS = 5_500
const REST_MAX_MS = 60_000
/** When somebody waits for what comes next: one call a second, of the eight that a key has. */
const SOON_PAGE_MS = 1_000
const SOON_MIN_MS = 1_500

const Resource = z.object({
  id: z.string().max(100),
  name: z.string().max(1_000),
  updatedAt: z.string().max(100),
  metadata: z.record(z.string().max(1_000), z.string().max(10_000)),
  isDisabled: z.boolean().optional(),
  provisionedAt: z.string().max(100).nullish(),
  onlineReplicas: z.number().optional(),
  ingestUrl: z.string().max(4_096).optional(),
})

/** A resource as the relay lists it, with the members that the operator reads. */
export interface Item {
  id: string
  name: string
  updatedAt: string
  metadata: Record<string, string>
  body: Body
}

/** The list as it was at a time: it holds nothing that was made later. */
export interface Snapshot {
  /** On the monotonic clock, before the first page was asked for. */
  startedAt: number
  items: ReadonlyMap<string, Item>
  byOwner: ReadonlyMap<string, Item>
}

/** A resource that has changed, and the uid of the object that it belongs to. */
export interface Found {
  id: string
  owner: string | undefined
}

/** The operation that lists them. */
export type ListCall = (input: {
  limit: number
  sortDir: 'asc'
  cursor?: string
  projectId: string | undefined
}) => Promise<{ data: Body[]; nextCursor: string | null }>

export interface PollerOptions {
  client: RelayClient
  list: ListCall
  projectId: string | undefined
  /** Whatever of a resource matters, as a text: another text is a change. */
  mark: (body: Body) => string
  /** Who made a resource, by its metadata. */
  ownerOf: (metadata: Record<string, string>) => string | undefined
  pollMs: number
  room: ListRoom
  pagesMax?: number
  log: Logger
  /** Resources that are new, changed or gone; `all` when the list is the first, or the relay went away or came back. */
  changed: (found: readonly Found[] | 'all') => void
}

/** Lists a kind of resources of a key again and again: the one way in which the operator learns of the relay's side. */
export class Poller {
  readonly #options: PollerOptions
  #snapshot: Snapshot | undefined
  #marks = new Map<string, string>()
  #wakeAt = 0
  #wake = new AbortController()
  #isWished = false
  #pages = 1
  #pageSize = PAGE
  #taken: Taken | undefined
  fault: unknown

  constructor(options: PollerOptions) {
    this.#options = options
  }

  get snapshot(): Snapshot | undefined {
    return this.#snapshot
  }

  /** Throws the fault of the last list. */
  refuse(): void {
    const { fault } = this
    if (fault !== undefined)
      throw fault instanceof Error
        ? fault
        : new Error('The relay cannot be listed', { cause: fault })
  }

  /** Somebody waits for a newer list. */
  wish(): void {
    this.#isWished = true
    const at = this.#lastAt + this.#soonMs
    if (at < this.#wakeAt) this.#wake.abort()
  }

  #lastAt = 0

  get #soonMs(): number {
    return Math.max(SOON_MIN_MS, this.#pages * SOON_PAGE_MS)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#isWished = false
      const hasChanged = await this.#poll(signal)
      this.#lastAt = performance.now()
      await this.#rest(hasChanged, signal)
    }
  }

  async #rest(hasChanged: boolean, signal: AbortSignal): Promise<void> {
    const { pollMs, client } = this.#options
    const quietMs = Math.max(pollMs, Math.min(REST_MAX_MS, this.#pages * REST_PAGE_MS))
    const usualMs = hasChanged ? Math.max(pollMs, this.#soonMs) : quietMs
    for (;;) {
      const ms =
        (this.#isWished ? Math.min(this.#soonMs, usualMs) : usualMs) * (client.isShort ? 2 : 1)
      this.#wakeAt = this.#lastAt + ms
      const leftMs = this.#wakeAt - performance.now()
      if (leftMs <= 0 || signal.aborted) return
      this.#wake = new AbortController()
      const woken = AbortSignal.any([signal, this.#wake.signal])
      await sleep(leftMs, undefined, { signal: woken }).catch(() => {})
    }
  }

  /** True when anything is new, other or gone. */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const { changed, log } = this.#options
    try {
      const before = this.#snapshot
      const snapshot = await this.#list(signal)
      const marks = new Map(
        Array.from(snapshot.items.values(), (item) => [item.id, this.#options.mark(item.body)]),
      )
      const ids = new Set([...marks.keys(), ...this.#marks.keys()])
      const found = [...ids].filter((id) => marks.get(id) !== this.#marks.get(id))
      this.#snapshot = snapshot
      this.#marks = marks
      const wasFailed = this.fault !== undefined
      this.fault = undefined
      const owner = (id: string): string | undefined => {
        const item = snapshot.items.get(id) ?? before?.items.get(id)
        return item && this.#options.ownerOf(item.metadata)
      }
      if (wasFailed || before === undefined) changed('all')
      else if (found.length > 0) changed(found.map((id) => ({ id, owner: owner(id) })))
      return found.length > 0
    } catch (error) {
      if (signal.aborted) return false
      log.debug({ err: error }, 'Cannot list')
      const isNew = this.fault === undefined
      this.fault = error
      if (isNew) changed('all')
      return false
    }
  }

  /** Its list is forgotten. */
  close(): void {
    this.#taken?.giveBack()
    this.#taken = undefined
  }

  async #list(signal: AbortSignal): Promise<Snapshot> {
    const taken = this.#options.room.open()
    try {
      const snapshot = await this.#listInto(taken, signal)
      this.#taken?.giveBack()
      this.#taken = taken
      return snapshot
    } catch (error) {
      taken.giveBack()
      throw error
    }
  }

  async #listInto(taken: Taken, signal: AbortSignal): Promise<Snapshot> {
    const { ownerOf, pagesMax = PAGES_MAX } = this.#options
    const startedAt = performance.now()
    const items = new Map<string, Item>()
    const byOwner = new Map<string, Item>()
    let cursor: string | undefined
    this.#pages = 0
    do {
      signal.throwIfAborted()
      if (this.#pages++ >= pagesMax) throw tooLong()
      const page = await this.#page(cursor)
      for (const body of page.data) {
        const item = itemOf(body)
        if (!taken.take(sizeOf(item))) throw tooLong()
        items.set(item.id, item)
        const owner = ownerOf(item.metadata)
        if (owner !== undefined) byOwner.set(owner, item)
      }
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    signal.throwIfAborted()
    return { startedAt, items, byOwner }
  }

  async #page(cursor: string | undefined): ReturnType<ListCall> {
    const { list, projectId } = this.#options
    // Oldest first: what is made meanwhile comes at the end, and moves nothing.
    const after = cursor === undefined ? {} : { cursor }
    for (;;) {
      try {
        return await list({ limit: this.#pageSize, sortDir: 'asc', projectId, ...after })
      } catch (error) {
        if (!(error instanceof AnswerTooLong) || this.#pageSize <= PAGE_MIN) throw error
        this.#pageSize = Math.max(PAGE_MIN, Math.floor(this.#pageSize / 3))
      }
    }
  }
}

function itemOf(listed: Body): Item {
  const { data: body } = Resource.safeParse(listed)
  if (body === undefined)
    throw new NotPostern('No Postern is at spec.baseUrl: its list is none of resources')
  const { id, name, updatedAt, metadata } = body
  return { id, name, updatedAt, metadata, body }
}

/** About the bytes that an item takes in memory. */
function sizeOf({ id, name, metadata }: Item): number {
  const texts = Object.entries(metadata).flat()
  return 200 + [id, name, ...texts].reduce((sum, text) => sum + text.length + 16, 0)
}

function tooLong(): RelayAway {
  return new RelayAway('The relay lists more resources than the operator has room for')
}
