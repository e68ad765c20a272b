import { takeBoth, type Pace, type PacedScope } from '../../../core/pacing/gcra.ts'
import type { Paced } from '../send/destination.ts'

/** How many may go within a time, and when the next one may. */
export interface Capacity {
  count: number
  nextMs: number
}

/** A lane never asks for more than this at once. */
const COUNT_MAX = 1_024

/** Scopes looked at when changed ones are taken, beside twice as many as changed: those that are at rest are dropped. */
const LOOKED_AT = 100

/** A clock that goes back by more than this was set back. */
const STEP_MS = 1_000

/**
 * The pacing state of the partitions that this worker owns. It lives in this memory alone, so it is exact without a
 * round trip; what changed is written now and then, for the periods that outlast a process.
 */
export class Pacer {
  readonly #tats = new Map<string, number>()
  readonly #changed = new Set<string>()
  /** The latest time heard of. */
  #latestMs = 0

  /** Takes one delivery from both scopes. Returns `nowMs` when it may go, else the moment to ask again. */
  take(paced: Paced, nowMs: number): number {
    if (paced.pace === undefined && paced.organisationPace === undefined) return nowMs
    this.#follow(nowMs)
    const taken = takeBoth(
      this.#scope(paced.organisationId, paced.organisationPace),
      this.#scope(paced.id, paced.pace),
      nowMs,
    )
    if (!taken.allowed) return taken.retryAtMs
    this.#keep(paced.organisationId, taken.organisationTatMs)
    this.#keep(paced.id, taken.destinationTatMs)
    return nowMs
  }

  /** The number of deliveries that `take` would let go within `withinMs`, without taking them. */
  capacity(paced: Paced, nowMs: number, withinMs: number): Capacity {
    if (paced.pace === undefined && paced.organisationPace === undefined) {
      return { count: COUNT_MAX, nextMs: nowMs }
    }
    this.#follow(nowMs)
    const organisation = this.#scope(paced.organisationId, paced.organisationPace)
    const destination = this.#scope(paced.id, paced.pace)
    let atMs = nowMs
    let nextMs = nowMs
    let count = 0
    while (count < COUNT_MAX) {
      const taken = takeBoth(organisation, destination, atMs)
      if (taken.allowed) {
        count++
        if (organisation) organisation.state.tatMs = taken.organisationTatMs ?? 0
        if (destination) destination.state.tatMs = taken.destinationTatMs ?? 0
      } else {
        atMs = taken.retryAtMs
        if (count === 0) nextMs = atMs
        if (atMs > nowMs + withinMs) break
      }
    }
    return { count, nextMs }
  }

  /** The state that a scope had when it was last written, here or by another owner of its partition. */
  restore(scopeId: string, tatMs: number): void {
    if (tatMs > (this.#tats.get(scopeId) ?? 0)) this.#tats.set(scopeId, tatMs)
  }

  /** Scopes in memory: those that may still have to wait, and some that are at rest. */
  get scopes(): number {
    return this.#tats.size
  }

  /** The pace of each scope that changed since the last call, to be written. */
  takeChanged(): { scopeId: string; tatMs: number }[] {
    this.#dropResting(LOOKED_AT + 2 * this.#changed.size)
    const changed = [...this.#changed].map((scopeId) => ({
      scopeId,
      tatMs: this.#tats.get(scopeId) ?? 0,
    }))
    this.#changed.clear()
    return changed
  }

  /** Marks scopes as changed again, because they could not be written. */
  putBack(changed: readonly { scopeId: string }[]): void {
    for (const { scopeId } of changed) this.#changed.add(scopeId)
  }

  /** A scope whose time passed a second ago paces like one that was never used. Looks at some of them, in turn. */
  #dropResting(count: number): void {
    for (const [scopeId, tatMs] of this.#tats.entries().take(Math.min(count, this.#tats.size))) {
      this.#tats.delete(scopeId)
      const isResting = tatMs <= this.#latestMs - STEP_MS && !this.#changed.has(scopeId)
      if (!isResting) this.#tats.set(scopeId, tatMs)
    }
  }

  /** When the clock is set back, what was spent is given back in the time that it would have taken. */
  #follow(nowMs: number): void {
    const backMs = this.#latestMs - nowMs
    if (backMs > STEP_MS) {
      for (const [scopeId, tatMs] of this.#tats) this.#keep(scopeId, tatMs - backMs)
      this.#latestMs = nowMs
    }
    this.#latestMs = Math.max(this.#latestMs, nowMs)
  }

  #scope(scopeId: string, pace: Pace | undefined): PacedScope | undefined {
    if (pace === undefined) return undefined
    return { state: { tatMs: this.#tats.get(scopeId) ?? 0 }, pace }
  }

  #keep(scopeId: string, tatMs: number | undefined): void {
    if (tatMs === undefined) return
    this.#tats.set(scopeId, tatMs)
    this.#changed.add(scopeId)
  }
}
