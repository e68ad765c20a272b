import { LANE_LARGE_BODY_BYTES_MAX, PAYLOAD_KB_MAX } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { ByteBudget, type Share } from '../in-flight/byte-budget.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import type { Work } from '../in-flight/work.ts'
import type { WorkQueue } from './work-queue.ts'

const LARGEST_BYTES = PAYLOAD_KB_MAX * 1024

export interface LargeBodiesDeps {
  log: Logger
  /** For those of all lanes. */
  largeBodies: ByteBudget
  /** For those of one organisation. */
  largeBodiesOf(organisationId: string): ByteBudget
  inFlight: InFlight
  /** Undefined when the event is not there any more. */
  readBody(work: Work): Promise<Buffer | undefined>
}

/** Callbacks of the lane. */
interface Hooks {
  /** How many of the first in its queue may go out now. */
  ahead(): number
  /** More may be possible now. */
  changed(): void
}

/**
 * Reads the large bodies of a lane while their deliveries are at the head of its queue. There they can be parked,
 * withdrawn and handed over like all others, and they are sent when the body is there. A lane waits for room for one body
 * at a time, so that lanes take turns, and for the largest size: it returns the rest when the body is there.
 */
export class LargeBodies {
  readonly #deps: LargeBodiesDeps
  readonly #queue: WorkQueue
  readonly #hooks: Hooks
  readonly #own = new ByteBudget(LANE_LARGE_BODY_BYTES_MAX)
  readonly #reading = new Set<Work>()
  #isInLine = false

  constructor(deps: LargeBodiesDeps, queue: WorkQueue, hooks: Hooks) {
    this.#deps = deps
    this.#queue = queue
    this.#hooks = hooks
  }

  /** To be called when one more may be needed. */
  look(): void {
    if (this.#queue.bodiless === 0 || this.#isInLine) return
    const next = this.#next()
    if (next !== undefined) void this.#bringNext(next.organisationId)
  }

  async #bringNext(organisationId: string): Promise<void> {
    this.#isInLine = true
    const room = [
      await this.#own.take(LARGEST_BYTES),
      await this.#deps.largeBodiesOf(organisationId).take(LARGEST_BYTES),
      await this.#deps.largeBodies.take(LARGEST_BYTES),
    ]
    this.#isInLine = false
    const work = this.#next()
    if (work !== undefined && (await this.#fill(work, room))) this.#hooks.changed()
    else for (const share of room) share.give()
  }

  /** The first that may go, lacks its body and is not being read. */
  #next(): Work | undefined {
    let ahead = this.#hooks.ahead()
    for (const work of this.#queue) {
      if (ahead-- <= 0) return undefined
      if (work.body === null && !this.#reading.has(work)) return work
    }
    return undefined
  }

  /** Reads a body. Gives the delivery back if its event is gone: the next claim finds out whether it was moved or purged. */
  async #fill(work: Work, room: readonly Share[]): Promise<boolean> {
    this.#reading.add(work)
    // The next body may be read at the same time.
    this.look()
    try {
      const body = await this.#deps.readBody(work)
      if (body === undefined) {
        for (const gone of this.#queue.drop((one) => one === work))
          this.#deps.inFlight.release(gone)
        return false
      }
      for (const share of room) share.shrink(body.length)
      return this.#queue.fill(work, body, room)
    } catch (err) {
      // Tried again with the lane's next look, and parked when it has waited too long.
      this.#deps.log.warn({ err }, 'Cannot read a body')
      return false
    } finally {
      this.#reading.delete(work)
    }
  }
}
