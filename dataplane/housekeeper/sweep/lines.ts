import type { Line } from '../../../core/jetstream/delivery-backlog.ts'

/** Longer than a server that stands still for its disk, and than a worker's request for messages stands. */
const STUCK_MS = 10_000

interface Stand {
  reachedSeq: number
  /** On the monotonic clock. */
  sinceMs: number
}

/** Tells the lines that move, or whose worker takes its time, from those whose consumer gives nothing to one that asks. */
export class Lines {
  /** How each that is asked for stands, by its partition. */
  #stands = new Map<number, Stand>()

  /**
   * Notes how they stand at `atMs`, on the monotonic clock, and returns the partitions of those that are stuck: each once,
   * and again when it stays so for as long.
   */
  note(lines: readonly Line[], atMs: number): Set<number> {
    const stands = new Map<number, Stand>()
    const stuck = new Set<number>()
    for (const { partition, reachedSeq } of lines.filter(({ isAskedFor }) => isAskedFor)) {
      const former = this.#stands.get(partition)
      const stand = former?.reachedSeq === reachedSeq ? former : { reachedSeq, sinceMs: atMs }
      if (atMs - stand.sinceMs >= STUCK_MS) stuck.add(partition)
      else stands.set(partition, stand)
    }
    this.#stands = stands
    return stuck
  }
}
