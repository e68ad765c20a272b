import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import type { Mark } from '../../../core/db/events/event-stream.ts'
import { readSnapshot, storingTransactions } from '../../../core/db/events/horizon.ts'

/** A transaction that writes for longer is looked at, and again after this: ingest's take milliseconds. */
const LOOK_AFTER_MS = 250

/** Ingest gives up far earlier: what is still open then is of a process that is frozen, or of somebody's hands. */
const GIVE_UP_AFTER_MS = 60_000

/** Marks that wait for the transactions below them; past it the newest is replaced, so that steps get longer. */
const MARKS_MAX = 256

export interface Horizon {
  /** No event below it is still to come; undefined until there is one. */
  settled: Mark | undefined
  newest: Mark
}

interface Running {
  /** When it was first seen and last looked at, on the monotonic clock. */
  since: number
  lookedAt: number
  /** It does not hold streams back. */
  isPassed: boolean
}

/** Tells how far events can be read without skipping one whose transaction is open. Each process has a single reader. */
export class HorizonReader {
  readonly #db: Db
  readonly #clock: Clock
  /** Ascending: one that is settled, then those that are not yet. */
  #marks: Mark[] = []
  readonly #running = new Map<bigint, Running>()
  #last: Promise<unknown> = Promise.resolve()
  #next: Promise<Horizon> | undefined

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** As it is after the call. Callers that come while PostgreSQL is being asked share the next question. */
  async read(): Promise<Horizon> {
    this.#next ??= this.#last.then(async () => {
      this.#next = undefined
      const reading = this.#read()
      this.#last = reading.catch(() => undefined)
      return await reading
    })
    return await this.#next
  }

  async #read(): Promise<Horizon> {
    // Before the snapshot: what begins to write between the two may have made its ids a moment earlier.
    const ms = this.#clock.now()
    const snapshot = await readSnapshot(this.#db)
    const newest = this.#add({ transaction: snapshot.next, ms })
    await this.#watch(snapshot.running)
    const held = snapshot.running.filter((one) => this.#running.get(one)?.isPassed !== true)
    const lowest = held.reduce((low, one) => (one < low ? one : low), snapshot.runningFrom)
    const settled = this.#marks.findLastIndex((mark) => mark.transaction <= lowest)
    if (settled > 0) this.#marks.splice(0, settled)
    return { settled: settled === -1 ? undefined : this.#marks[0], newest }
  }

  #add(mark: Mark): Mark {
    const last = this.#marks.at(-1)
    // The older time of the two bounds the ids of what follows; nothing has begun to write in between.
    if (last?.transaction === mark.transaction) return last
    // PostgreSQL was restarted, and numbers that it had not written down are given again.
    if (last !== undefined && last.transaction > mark.transaction) this.#marks = []
    if (this.#marks.length >= MARKS_MAX) this.#marks.pop()
    this.#marks.push(mark)
    return mark
  }

  /** Lets pass what does not store events. A statement after this one sees what those that ended have stored. */
  async #watch(running: readonly bigint[]): Promise<void> {
    const now = performance.now()
    const still = new Set(running)
    for (const one of this.#running.keys()) if (!still.has(one)) this.#running.delete(one)
    for (const one of running) {
      if (this.#running.has(one)) continue
      this.#running.set(one, { since: now, lookedAt: now, isPassed: false })
    }
    const late = [...this.#running].filter(
      ([, { isPassed, lookedAt }]) => !isPassed && now - lookedAt > LOOK_AFTER_MS,
    )
    if (late.length === 0) return
    const storing = await storingTransactions(
      this.#db,
      late.map(([one]) => one),
    )
    for (const [one, seen] of late) {
      seen.lookedAt = now
      seen.isPassed = !storing.has(one) || now - seen.since > GIVE_UP_AFTER_MS
    }
  }
}
