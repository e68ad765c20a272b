import { LANE_BYTES_MAX } from '../../../core/limits.ts'
import type { Share } from '../in-flight/byte-budget.ts'
import { dropLargeBody, type Work } from '../in-flight/work.ts'

/** Work held in memory for one destination; what exceeds it, or `LANE_BYTES_MAX`, waits in PostgreSQL or the stream. */
const WINDOW = 1_024

/**
 * With this many deliveries in memory the stream need send no more. Objects that survive two young collections become old
 * and burden the old ones; with a whole window in memory, that would be every delivery of a backlog.
 */
const AMPLE = WINDOW / 4

/** All that is ever held, in windows: one, and two for what the stream was asked for before it was told to wait. */
const WINDOWS_MAX = 3

/** The deliveries to one destination that wait in memory, in the order of sending. */
export class WorkQueue implements Iterable<Work> {
  #works: Work[] = []
  /** Bytes of messages and claimed rows, without large bodies. */
  #bytes = 0
  #bodiless = 0

  get length(): number {
    return this.#works.length
  }

  get isFull(): boolean {
    return this.#works.length >= WINDOW || this.#bytes >= LANE_BYTES_MAX
  }

  /** Full, and with what came after the stream was told to wait. */
  get isOverfull(): boolean {
    return this.#works.length >= WINDOWS_MAX * WINDOW || this.#bytes >= WINDOWS_MAX * LANE_BYTES_MAX
  }

  /** So much that the stream may be told to wait. */
  get isAmple(): boolean {
    return this.#works.length >= AMPLE || this.#bytes >= LANE_BYTES_MAX
  }

  /** So far down that the stream is to send more. */
  get isScant(): boolean {
    return this.#works.length < (AMPLE * 3) / 4 && this.#bytes < LANE_BYTES_MAX / 2
  }

  /** So far down that more are taken from PostgreSQL: the next come while these go. */
  get isLow(): boolean {
    return this.#works.length < WINDOW / 2 && this.#bytes < LANE_BYTES_MAX / 2
  }

  /** How many lack their body. */
  get bodiless(): number {
    return this.#bodiless
  }

  get first(): Work | undefined {
    return this.#works[0]
  }

  [Symbol.iterator](): Iterator<Work> {
    return this.#works[Symbol.iterator]()
  }

  /** A person who asks for an attempt goes ahead of all others. The first is the one that has waited longest all the same. */
  push(work: Work): void {
    const next = work.attemptTrigger === 'manual' ? this.first : undefined
    work.queuedAt = next?.queuedAt ?? performance.now()
    if (next === undefined) this.#works.push(work)
    else this.#works.unshift(work)
    this.#bytes += work.bytes
    if (work.body === null) this.#bodiless++
  }

  /** Gives a work its large body and the room for it. False when the work has left. */
  fill(work: Work, body: Buffer, room: readonly Share[]): boolean {
    if (!this.#works.includes(work)) return false
    work.body = body
    work.largeBodyRoom = room
    this.#bodiless--
    return true
  }

  /** Takes the first out, to be sent. */
  shift(): Work | undefined {
    const work = this.#works.shift()
    if (work !== undefined) this.#forget(work)
    return work
  }

  /** Takes out, not to be sent, those that `isSo` names: all unless told. */
  drop(isSo: (work: Work, place: number) => boolean = () => true): Work[] {
    const kept: Work[] = []
    const dropped: Work[] = []
    for (const [place, work] of this.#works.entries()) {
      if (isSo(work, place)) dropped.push(work)
      else kept.push(work)
    }
    this.#works = kept
    for (const work of dropped) {
      this.#forget(work)
      dropLargeBody(work)
    }
    return dropped
  }

  #forget(work: Work): void {
    this.#bytes -= work.bytes
    if (work.body === null) this.#bodiless--
  }
}
