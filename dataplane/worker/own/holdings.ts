import type { Hold } from '../../../core/db/deliveries/work/partition-owners.ts'

/** Only under `held` it is sent; under `leaving` it is left behind in PostgreSQL, under `lost` another has it. */
export type Standing = 'held' | 'leaving' | 'lost'

interface Held {
  hold: Hold
  /** `leaving` takes nothing new; `left` is to be released. */
  state: 'held' | 'leaving' | 'left'
}

/**
 * The partitions that this worker owns, as the last renewal said. On the monotonic clock: a process that was frozen owns
 * none when it wakes up.
 */
export class Holdings {
  readonly #held = new Map<number, Held>()
  #heldUntil = 0

  /** The last renewal is no older than a lease, so partitions can be owned. A worker without any may stand by. */
  get isCurrent(): boolean {
    return performance.now() < this.#heldUntil
  }

  /** All that are not released, also when the lease is over. */
  get partitions(): number[] {
    return [...this.#held.keys()]
  }

  /** Holds of the partitions whose work this worker takes. */
  holds(): Hold[] {
    return this.isCurrent ? this.#in('held') : []
  }

  holdOf(partition: number): Hold | undefined {
    const held = this.#held.get(partition)
    return this.isCurrent && held?.state === 'held' ? held.hold : undefined
  }

  /** The same, while it is being handed over too. */
  takenHoldOf(partition: number): Hold | undefined {
    return this.isCurrent ? this.#held.get(partition)?.hold : undefined
  }

  /** Tells how to treat work that was taken under a hold. */
  standingOf(hold: Hold): Standing {
    const held = this.#held.get(hold.partition)
    if (!this.isCurrent || held?.hold.epoch !== hold.epoch) return 'lost'
    return held.state === 'held' ? 'held' : 'leaving'
  }

  /** Holds these until then, and no others. Says what is new and what another has. */
  renew(holds: readonly Hold[], untilMs: number): { taken: Hold[]; lost: ReadonlySet<number> } {
    this.#heldUntil = untilMs
    const now = new Map(holds.map((hold) => [hold.partition, hold]))
    const lost = new Set<number>()
    for (const [partition, { hold }] of this.#held) {
      if (now.get(partition)?.epoch !== hold.epoch) lost.add(partition)
    }
    for (const partition of lost) this.#held.delete(partition)
    const taken = holds.filter(({ partition }) => !this.#held.has(partition))
    for (const hold of taken) this.#held.set(hold.partition, { hold, state: 'held' })
    return { taken, lost }
  }

  /** Begins to leave all but these. Says which it had not begun to leave. */
  leaveAllBut(share: ReadonlySet<number>): Hold[] {
    const leaving = [...this.#held.values()].filter(
      ({ hold, state }) => state === 'held' && !share.has(hold.partition),
    )
    for (const held of leaving) held.state = 'leaving'
    return leaving.map(({ hold }) => hold)
  }

  /** They were handed over. */
  left(holds: readonly Hold[]): void {
    for (const hold of holds) {
      const held = this.#held.get(hold.partition)
      if (held?.hold === hold) held.state = 'left'
    }
  }

  /** Partitions that are handed over and must be released. */
  toRelease(): number[] {
    return this.#in('left').map(({ partition }) => partition)
  }

  release(partitions: readonly number[]): void {
    for (const partition of partitions) this.#held.delete(partition)
  }

  /** Nothing is held from now on, whatever the lease says. */
  end(): void {
    this.#heldUntil = 0
  }

  #in(wanted: Held['state']): Hold[] {
    return [...this.#held.values()].flatMap(({ hold, state }) => (state === wanted ? [hold] : []))
  }
}
