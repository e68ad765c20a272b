import { Batcher, type BatcherOptions } from '../../batcher.ts'
import type { Incoming, StoreResult } from './event.ts'

/** A larger event is written in batches of large ones, so that small events do not wait for megabytes of another tenant. */
const LARGE_BYTES = 256 * 1_024

/** Events on their way to PostgreSQL: batches of small ones, and beside them batches of large ones. */
export class EventBatches {
  readonly #small: Batcher<Incoming, StoreResult>
  readonly #large: Batcher<Incoming, StoreResult>

  constructor(options: BatcherOptions, write: (events: Incoming[]) => Promise<StoreResult[]>) {
    this.#small = new Batcher(options, write)
    this.#large = new Batcher(options, write)
  }

  /** As `Batcher.add`. */
  async add(event: Incoming, bytes: number): Promise<StoreResult> {
    return await (bytes > LARGE_BYTES ? this.#large : this.#small).add(event, bytes)
  }

  /** By the small ones: megabytes of a tenant that are written slowly are no reason to take nothing of all. */
  get isOverdue(): boolean {
    return this.#small.isOverdue
  }

  async drain(): Promise<void> {
    await Promise.all([this.#small.drain(), this.#large.drain()])
  }
}
