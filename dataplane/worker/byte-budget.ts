/** A part of a budget. It goes back once, however often that is said. */
export interface Share {
  /** What more than this was taken goes back. */
  shrink(bytes: number): void
  give(): void
}

interface Waiter {
  bytes: number
  grant(share: Share): void
}

/** How many bytes of something this process may hold, given out in the order in which they were asked for. */
export class ByteBudget {
  readonly #max: number
  readonly #line: Waiter[] = []
  #held = 0

  constructor(max: number) {
    this.#max = max
  }

  get held(): number {
    return this.#held
  }

  /** There is some left and nobody waits for it. */
  get hasRoom(): boolean {
    return this.#held < this.#max && this.#line.length === 0
  }

  /** Counts what is in memory already, room or not. */
  hold(bytes: number): Share {
    let left = bytes
    this.#held += bytes
    const shrink = (to: number): void => {
      if (to >= left) return
      this.#held -= left - to
      left = to
      this.#serve()
    }
    return { shrink, give: () => shrink(0) }
  }

  /** Resolves in turn, when there is room. What is more than the whole budget goes alone. */
  take(bytes: number): Promise<Share> {
    return new Promise((resolve) => {
      this.#line.push({ bytes, grant: resolve })
      this.#serve()
    })
  }

  #serve(): void {
    for (;;) {
      const first = this.#line[0]
      if (first === undefined || !this.#fits(first.bytes)) return
      this.#line.shift()
      first.grant(this.hold(first.bytes))
    }
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#max
  }
}
