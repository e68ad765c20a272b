import { setTimeout as sleep } from 'node:timers/promises'

import type { Withdrawal } from '../../core/stream/withdrawals.ts'
import type { Destinations } from './destinations.ts'
import { Lane, type LaneDeps } from './lane.ts'
import type { Work } from './work.ts'

const TICK_MS = 1_000
const DRAIN_LOOK_MS = 20

export interface LanesDeps extends LaneDeps {
  destinations: Destinations
}

/** The lanes of the partitions that this worker owns, made when work comes and dropped when they are idle. */
export class Lanes {
  readonly #deps: LanesDeps
  readonly #lanes = new Map<string, Promise<Lane>>()
  readonly #open = new Map<string, Lane>()
  readonly #ticker: NodeJS.Timeout
  #arriving = 0

  constructor(deps: LanesDeps) {
    this.#deps = deps
    this.#ticker = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Work in memory, on its way into a lane or in one. */
  get held(): number {
    let held = this.#arriving
    for (const lane of this.#open.values()) held += lane.held
    return held
  }

  admit(work: Work): void {
    const lane = this.#open.get(work.destinationId)
    if (lane !== undefined) {
      lane.admit(work)
      return
    }
    this.#arriving++
    this.#laneOf(work.destinationId)
      .then((opened) => opened.admit(work))
      .catch((err: unknown) => {
        // Not settled: the stream sends it again, or its row becomes due.
        this.#deps.log.warn({ err }, 'Cannot open a lane')
      })
      .finally(() => this.#arriving--)
  }

  /** PostgreSQL holds rows for this lane. */
  async noteParked(destinationId: string): Promise<void> {
    const lane = await this.#laneOf(destinationId)
    lane.noteParked()
  }

  /** Settings of the destination may have changed: its lane, if there is one, gets the present ones. */
  async refresh(destinationId: string): Promise<void> {
    this.#deps.destinations.forget(destinationId)
    // One that is being opened may have read what was there before.
    const lane = await this.#lanes.get(destinationId)
    if (lane !== undefined) lane.configure(await this.#deps.destinations.get(destinationId))
  }

  /** Of what the lanes hold some may be withdrawn now. */
  dropWithdrawn({ deliveries, deleted }: Withdrawal): void {
    const concerned =
      deleted.length > 0
        ? this.#open.keys()
        : new Set(deliveries.map(({ destinationId }) => destinationId))
    for (const destinationId of concerned) this.#open.get(destinationId)?.dropWithdrawn()
  }

  async refreshAll(): Promise<void> {
    for (const destinationId of this.#open.keys()) await this.refresh(destinationId)
  }

  /** Waits until all in hand is sent, at most `maxMs`, and gives back what is left. */
  async drain(maxMs: number): Promise<void> {
    const endAt = performance.now() + maxMs
    while (this.held > 0 && performance.now() < endAt) await sleep(DRAIN_LOOK_MS)
    for (const lane of this.#open.values()) lane.release()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticker)
    for (const lane of this.#open.values()) lane[Symbol.dispose]()
  }

  #laneOf(destinationId: string): Promise<Lane> {
    const known = this.#lanes.get(destinationId)
    if (known !== undefined) return known
    const opening = this.#deps.destinations.get(destinationId).then((destination) => {
      const lane = new Lane(this.#deps, destinationId, destination)
      this.#open.set(destinationId, lane)
      return lane
    })
    this.#lanes.set(destinationId, opening)
    opening.catch(() => this.#lanes.delete(destinationId))
    return opening
  }

  #tick(): void {
    for (const [destinationId, lane] of this.#open) {
      lane.tick()
      if (!lane.isIdle) continue
      lane[Symbol.dispose]()
      this.#open.delete(destinationId)
      this.#lanes.delete(destinationId)
    }
  }
}
