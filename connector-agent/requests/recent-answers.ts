import type { Answer } from '../tunnel/streams.ts'

/** Long enough for every way in which a request may be given to the agent twice. */
const KEPT_MS = 5 * 60_000
const COUNT_MAX = 1_000
const BYTES_MAX = 8 * 1024 * 1024
const OVERHEAD_BYTES = 500

interface Kept {
  answer: Promise<Answer>
  startedAt: number
  bytes: number
}

/**
 * The answers of the last minutes by attempt: a request that comes again, since its first answer was lost on the
 * way, gets the same answer and does not reach the destination twice.
 */
export class RecentAnswers {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number
  #bytes = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get size(): number {
    return this.#kept.size
  }

  /** The answer that there is, or is on its way; else that of `perform`. */
  async once(attemptId: string, perform: () => Promise<Answer>): Promise<Answer> {
    this.#dropOld()
    const known = this.#kept.get(attemptId)
    if (known !== undefined) return await known.answer
    const kept: Kept = { answer: perform(), startedAt: this.#now(), bytes: 0 }
    this.#kept.set(attemptId, kept)
    const answer = await kept.answer
    if (this.#kept.get(attemptId) !== kept) return answer
    // Without an answer of the destination there is nothing to repeat: it may be tried again.
    if (answer.kind === 'failure') this.#drop(attemptId)
    else this.#weigh(kept, answer)
    this.#dropOld()
    return answer
  }

  #weigh(kept: Kept, answer: Extract<Answer, { kind: 'response' }>): void {
    kept.bytes = answer.head.headers.reduce(
      (sum, [name, value]) => sum + name.length + value.length,
      OVERHEAD_BYTES + answer.body.length,
    )
    this.#bytes += kept.bytes
  }

  /** The oldest stand first. */
  #dropOld(): void {
    for (const [attemptId, { startedAt }] of this.#kept) {
      const isOld = this.#now() - startedAt > KEPT_MS
      if (!isOld && this.#kept.size <= COUNT_MAX && this.#bytes <= BYTES_MAX) return
      this.#drop(attemptId)
    }
  }

  #drop(attemptId: string): void {
    this.#bytes -= this.#kept.get(attemptId)?.bytes ?? 0
    this.#kept.delete(attemptId)
  }
}
