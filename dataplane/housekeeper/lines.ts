import type { Line } from '../../core/stream/delivery-backlog.ts'

/** Longer than a server that stands still for its disk, and than a worker's request for messages stands. */
const STUCK_MS = 10_000

interface Stand {
  reachedSeq: number
  /** On the monotonic clock. */
  sinceMs: number
}

/** Tells the lines that move, or whose worker takes its time, from those whose consumer gives nothing to one that asks. */
export class Lines {
  readonly #stands = new Map<number, Stand>()

  /** Notes how they stand and returns the partitions of those that are stuck: each once, and again when it stays so. */
  note(lines: readonly Line[], nowMs: number): Set<number> {
    const asked = new Map(
      lines.flatMap((line) => (line.isAskedFor ? [[line.partition, line.reachedSeq]] : [])),
    )
    for (const partition of this.#stands.keys())
      if (!asked.has(partition)) this.#stands.delete(partition)
    const stuck = new Set<number>()
    for (const [partition, reachedSeq] of asked) {
      const stand = this.#stands.get(partition)
      if (stand?.reachedSeq !== reachedSeq)
        this.#stands.set(partition, { reachedSeq, sinceMs: nowMs })
      else if (nowMs - stand.sinceMs >= STUCK_MS) stuck.add(partition)
    }
    for (const partition of stuck) this.#stands.delete(partition)
    return stuck
  }
}
