import { setTimeout as sleep } from 'node:timers/promises'

const DRAIN_LOOK_MS = 2

export interface BatcherOptions {
  /** Items of one write, and bytes in it. */
  itemsMax: number
  bytesMax: number
  /** Writes under way at once. More make smaller batches, hence more work for PostgreSQL. */
  lanes: number
  /** How long the first item of a batch waits for others. With 0 only one that finds all lanes free waits, for a turn. */
  windowMs: number
  /** Items and bytes waiting for a lane; past that `add` throws `Overloaded`. */
  queueMax: number
  queueBytesMax: number
  /** How long an item waits, in the queue and while it is written, before `add` throws `Overdue`. Without it: for ever. */
  waitMaxMs?: number
}

interface Waiter<T, R> {
  item: T
  bytes: number
  /** On the monotonic clock. */
  since: number
  resolve: (result: R) => void
  reject: (error: unknown) => void
}

/** The queue is full. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
}

/** The item was not written in time. It is not written later if it was still queued; in a batch under way it may be. */
export class Overdue extends Error {
  override readonly name = 'Overdue'
}

/**
 * A free lane takes all that is queued: under light load a batch is one item and waits for nothing but the window,
 * under heavy load batches grow by themselves. `write` returns a result for each item, in order.
 */
export class Batcher<T, R extends object | true> {
  readonly #write: (items: T[]) => Promise<R[]>
  readonly #options: BatcherOptions
  readonly #queue: Waiter<T, R>[] = []
  #queuedBytes = 0
  /** Since when its first item waits. */
  #queuedAt = 0
  #busyLanes = 0
  readonly #underWay = new Set<Waiter<T, R>[]>()
  #deadline: NodeJS.Timeout | undefined

  constructor(options: BatcherOptions, write: (items: T[]) => Promise<R[]>) {
    this.#options = options
    this.#write = write
  }

  get queued(): number {
    return this.#queue.length
  }

  /** Resolves with the item's result when its batch is written; throws `Overloaded`, `Overdue`, or what `write` threw. */
  add(item: T, bytes = 0): Promise<R> {
    const { queueMax, queueBytesMax, lanes } = this.#options
    if (this.isOverdue) return Promise.reject(new Overdue('Earlier items are not written yet'))
    if (this.#queue.length >= queueMax || this.#queuedBytes + bytes > queueBytesMax) {
      return Promise.reject(new Overloaded('Too many items wait to be written'))
    }
    const since = performance.now()
    if (this.#queue.length === 0) this.#queuedAt = since
    this.#watch(since)
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, bytes, since, resolve, reject })
      this.#queuedBytes += bytes
      if (this.#busyLanes < lanes) void this.#run()
    })
  }

  /** All lanes have a batch whose first item has waited for longer than an item may. */
  get isOverdue(): boolean {
    const { waitMaxMs, lanes } = this.#options
    if (waitMaxMs === undefined || this.#underWay.size < lanes) return false
    const before = performance.now() - waitMaxMs
    return [...this.#underWay].every(([first]) => first !== undefined && first.since < before)
  }

  /** Resolves when nothing is queued or under way, or after `withinMs`. */
  async drain(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    const endAt = performance.now() + withinMs
    while (this.#busyLanes > 0 && performance.now() < endAt) await sleep(DRAIN_LOOK_MS)
  }

  async #run(): Promise<void> {
    this.#busyLanes++
    // The rest of this turn of the loop may bring more items: they join this batch instead of waiting for the next.
    await nextTurn()
    while (this.#queue.length > 0) {
      const restMs = this.#restMs()
      if (restMs > 0) await sleep(restMs)
      else await this.#writeBatch(this.#takeBatch())
    }
    this.#busyLanes--
  }

  /** The rest of the window of the next batch. */
  #restMs(): number {
    const { windowMs, itemsMax } = this.#options
    if (windowMs === 0 || this.#queue.length >= itemsMax) return 0
    return this.#queuedAt + windowMs - performance.now()
  }

  async #writeBatch(batch: Waiter<T, R>[]): Promise<void> {
    this.#underWay.add(batch)
    try {
      const results = await this.#write(batch.map((waiter) => waiter.item))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined) reject(new Error('The write answered too few items'))
        else resolve(result)
      })
    } catch (error) {
      for (const waiter of batch) waiter.reject(error)
    } finally {
      this.#underWay.delete(batch)
    }
  }

  /** Rejects what has waited too long, as long as anything waits. A single timer serves all items. */
  #watch(since: number): void {
    const { waitMaxMs } = this.#options
    if (waitMaxMs === undefined || this.#deadline !== undefined) return
    const restMs = Math.max(0, since + waitMaxMs - performance.now())
    this.#deadline = setTimeout(() => {
      this.#deadline = undefined
      this.#rejectBefore(performance.now() - waitMaxMs)
    }, restMs).unref()
  }

  #rejectBefore(before: number): void {
    const overdue = new Overdue('The item was not written in time')
    for (const batch of this.#underWay) {
      for (const waiter of batch) if (waiter.since <= before) waiter.reject(overdue)
    }
    const late = this.#queue.findIndex(({ since }) => since > before)
    const dropped = this.#queue.splice(0, late === -1 ? this.#queue.length : late)
    for (const { bytes, reject } of dropped) {
      this.#queuedBytes -= bytes
      reject(overdue)
    }
    const waiting = [...this.#underWay].flat().map(({ since }) => since)
    const next = Math.min(
      ...waiting.filter((since) => since > before),
      this.#queue[0]?.since ?? Infinity,
    )
    if (next < Infinity) this.#watch(next)
  }

  #takeBatch(): Waiter<T, R>[] {
    let count = 0
    let bytes = 0
    for (const waiter of this.#queue) {
      const isFull = bytes + waiter.bytes > this.#options.bytesMax
      if (count === this.#options.itemsMax || (count > 0 && isFull)) break
      count++
      bytes += waiter.bytes
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
