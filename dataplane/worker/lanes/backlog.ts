import type { Parked } from '../../../core/db/deliveries/work/waiting.ts'
import { isByHand } from '../../../core/delivery/states.ts'
import type { Logger } from '../../../core/log.ts'
import type { Allowance } from '../in-flight/allowances.ts'
import type { Work } from '../in-flight/work.ts'

export interface BacklogDeps {
  log: Logger
  park(rows: Parked[]): Promise<void>
  /** Nothing when the partition is not this worker's. Says whether that was all, or as much as fits a claim. */
  claimParked(
    lane: LaneKey,
    limit: number,
    how: ClaimHow,
  ): Promise<{ works: Work[]; isAll: boolean }>
  /** Hands parked rows over from one partition to that of the lane. */
  moveParked(lane: LaneKey, from: number): Promise<void>
}

interface ClaimHow {
  byHandOnly: boolean
  /** The allowance of a lane whose attempts hang, to which the claim keeps. */
  allowance?: Allowance | undefined
}

/** A destination and the partition whose owner sends to it. */
export interface LaneKey {
  destinationId: string
  partition: number
}

/** The parked deliveries of a lane, as far as this worker knows. */
export class Backlog {
  readonly #deps: BacklogDeps
  /** Rows that are being parked now. */
  #parking = 0
  #exists = false
  /** Writes of parked rows that were made, to tell a claim that began before one of them. */
  #parks = 0
  /** The last claim took all that was there: only rows that are being parked now can follow. */
  #isDry = false
  /** Attempts by hand may be among the rows. */
  #mayHoldByHand = false
  #isClaiming = false
  #isMoving = false

  constructor(deps: BacklogDeps) {
    this.#deps = deps
  }

  /** PostgreSQL may hold some: what comes goes behind them. */
  get exists(): boolean {
    return this.#exists
  }

  /** Nothing is on its way there or from there. */
  get isStill(): boolean {
    return this.#parking === 0 && !this.#isClaiming && !this.#isMoving
  }

  get mayClaim(): boolean {
    return this.#exists && !this.#isClaiming && !this.#isDry
  }

  /** PostgreSQL holds some, or soon does. */
  note(): void {
    this.#exists = true
    this.#mayHoldByHand = true
  }

  /** Attempts by hand may be there, for which a busy destination is asked. */
  get mayClaimByHand(): boolean {
    return this.#mayHoldByHand && !this.#isClaiming
  }

  async add(rows: Parked[]): Promise<void> {
    this.#exists = true
    this.#parking += rows.length
    this.#mayHoldByHand ||= rows.some(isByHand)
    await this.#deps.park(rows)
    this.#parking -= rows.length
    this.#parks++
    this.#isDry = false
  }

  /** Brings back the oldest. */
  async claim(
    lane: LaneKey,
    { limit, allowance }: { limit: number; allowance: Allowance | undefined },
    admit: (work: Work) => void,
  ): Promise<void> {
    this.#isClaiming = true
    try {
      const parksBefore = this.#parks
      const { works, isAll } = await this.#deps.claimParked(lane, limit, {
        byHandOnly: false,
        allowance,
      })
      if (isAll && this.#parks === parksBefore) {
        this.#isDry = this.#parking > 0
        this.#exists = this.#isDry
      }
      for (const work of works) admit(work)
    } catch (err) {
      // The next scan for parked rows tries again.
      this.#exists = false
      this.#deps.log.warn({ err }, 'Cannot claim parked deliveries')
    }
    this.#isClaiming = false
  }

  /** Brings back the oldest attempt by hand. */
  async claimByHand(lane: LaneKey, admit: (work: Work) => void): Promise<void> {
    this.#isClaiming = true
    this.#mayHoldByHand = false
    try {
      const { works } = await this.#deps.claimParked(lane, 1, { byHandOnly: true })
      this.#mayHoldByHand ||= works.length > 0
      for (const work of works) admit(work)
    } catch (err) {
      // The next scan for parked rows tries again.
      this.#deps.log.warn({ err }, 'Cannot claim parked manual retries')
    }
    this.#isClaiming = false
  }

  /** Moves the parked deliveries of the lane's former partition. */
  async move(lane: LaneKey, from: number): Promise<void> {
    if (this.#isMoving) return
    this.#isMoving = true
    try {
      await this.#deps.moveParked(lane, from)
    } catch (err) {
      this.#deps.log.warn({ err }, 'Cannot move parked deliveries')
    }
    this.#isMoving = false
  }
}
