/** Work of reading that waits for its turn. */
export interface Turn {
  /** Organisations that the mail is for; each is charged its part of what reading it costs. */
  organisations: readonly string[]
  /** The address that it comes from; undefined behind a relay. */
  sender: string | undefined
  bytes: number
}

/** Processor time that a holder has used, which halves every `HALF_LIFE_MS`. */
interface Used {
  ms: number
  atMs: number
}

const HALF_LIFE_MS = 10_000
const SHARES_MAX = 10_000

/** Reading a smaller mail takes a few milliseconds, whatever is in it. */
const LARGE_BYTES = 64 * 1_024

/**
 * Whose mail is read next: that of the organisation and the sender that have used the least processor time of late. No
 * organisation and no sender has every thread at once, and large mails leave one thread to small ones.
 */
export class MailTurns<T extends Turn> {
  readonly #threads: number
  readonly #waiting = new Set<T>()
  readonly #running = new Set<T>()
  readonly #used = new Map<string, Used>()

  constructor(threads: number) {
    this.#threads = threads
  }

  get waiting(): ReadonlySet<T> {
    return this.#waiting
  }

  add(turn: T): void {
    this.#waiting.add(turn)
  }

  /** Ends the wait of a turn that has not begun. */
  remove(turn: T): void {
    this.#waiting.delete(turn)
  }

  /** The next to run; undefined: none waits that may. */
  take(nowMs: number): T | undefined {
    let best: { turn: T; usage: Usage } | undefined
    for (const turn of this.#waiting) {
      if (!this.#mayRun(turn)) continue
      const usage = this.#usageOf(turn, nowMs)
      if (best === undefined || isLess(usage, best.usage)) best = { turn, usage }
    }
    if (best === undefined) return undefined
    this.#waiting.delete(best.turn)
    this.#running.add(best.turn)
    return best.turn
  }

  /** Charges what the turn has cost. */
  end(turn: T, costMs: number, nowMs: number): void {
    this.#running.delete(turn)
    for (const one of turn.organisations) {
      this.#charge(one, costMs / turn.organisations.length, nowMs)
    }
    if (turn.sender !== undefined) this.#charge(turn.sender, costMs, nowMs)
  }

  #mayRun(turn: T): boolean {
    const most = Math.max(1, this.#threads - 1)
    const running = [...this.#running]
    const isLarge = turn.bytes > LARGE_BYTES
    if (isLarge && running.filter(({ bytes }) => bytes > LARGE_BYTES).length >= most) return false
    return holdersOf(turn).every(
      (holder) => running.filter((other) => holdersOf(other).includes(holder)).length < most,
    )
  }

  #usageOf(turn: Turn, nowMs: number): Usage {
    const all = holdersOf(turn).map((holder) => this.#usedBy(holder, nowMs))
    return { most: Math.max(0, ...all), sum: all.reduce((sum, ms) => sum + ms, 0) }
  }

  #usedBy(holder: string, nowMs: number): number {
    const used = this.#used.get(holder)
    return used === undefined ? 0 : used.ms * 2 ** ((used.atMs - nowMs) / HALF_LIFE_MS)
  }

  /** The holder that was charged longest ago is forgotten first. */
  #charge(holder: string, ms: number, atMs: number): void {
    const sum = this.#usedBy(holder, atMs) + ms
    this.#used.delete(holder)
    this.#used.set(holder, { ms: sum, atMs })
    const [oldest] = this.#used.keys()
    if (this.#used.size > SHARES_MAX && oldest !== undefined) this.#used.delete(oldest)
  }
}

/** Milliseconds that the holders of a turn have used: the one that used the most, and all of them. */
interface Usage {
  most: number
  sum: number
}

function isLess(a: Usage, b: Usage): boolean {
  return a.most === b.most ? a.sum < b.sum : a.most < b.most
}

function holdersOf({ organisations, sender }: Turn): string[] {
  return sender === undefined ? [...organisations] : [...organisations, sender]
}
