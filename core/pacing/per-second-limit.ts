/** Why a request is one too many, in the shape that RATE_LIMITED carries. */
export interface Exceeded {
  limit: number
  remaining: number
  retryAfterSeconds: number
}

/** Subjects remembered at once; past it the oldest is forgotten, which only forgives. */
const SUBJECTS_MAX = 10_000

/** Requests per second for each of many subjects, counted in this process. */
export class PerSecondLimit {
  readonly #perSecond: number
  readonly #windows = new Map<string, { second: number; count: number }>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a request; what it returns says that it must be refused. */
  take(subject: string, nowMs: number): Exceeded | undefined {
    const second = Math.floor(nowMs / 1000)
    const window = this.#windows.get(subject)
    const count = window?.second === second ? window.count + 1 : 1
    this.#windows.delete(subject)
    this.#windows.set(subject, { second, count })
    const [oldest] = this.#windows.keys()
    if (this.#windows.size > SUBJECTS_MAX && oldest !== undefined) this.#windows.delete(oldest)
    return count > this.#perSecond
      ? { limit: this.#perSecond, remaining: 0, retryAfterSeconds: 1 }
      : undefined
  }
}
