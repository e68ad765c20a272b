/** A part of a budget. It goes back once, however often that is said. */
export class Share {
  readonly #change: (bytes: number) => void
  #reserved = 0

  constructor(bytes: number, change: (bytes: number) => void) {
    this.#change = change
    this.grow(bytes)
  }

  /** Counts more that is in memory already, room or not. */
  grow(bytes: number): void {
    this.#reserved += bytes
    this.#change(bytes)
  }

  /** Returns the bytes beyond this number to the budget. */
  shrink(bytes: number): void {
    if (bytes < this.#reserved) this.grow(bytes - this.#reserved)
  }

  give(): void {
    this.shrink(0)
  }
}

interface Waiter {
  bytes: number
  grant(share: Share): void
}

/** Bytes that this process may have in memory for one purpose, reserved in the order in which they were asked for. */
export class ByteBudget {
  readonly #max: number
  readonly #line: Waiter[] = []
  #reserved = 0
  readonly #change = (bytes: number): void => {
    this.#reserved += bytes
    if (bytes < 0) this.#serve()
  }

  constructor(max: number) {
    this.#max = max
  }

  get reserved(): number {
    return this.#reserved
  }

  /** There is some left and nobody waits for it. */
  get hasRoom(): boolean {
    return this.#reserved < this.#max && this.#line.length === 0
  }

  /** Nobody has reserved any of it or waits for it. */
  get isUnused(): boolean {
    return this.#reserved === 0 && this.#line.length === 0
  }

  /** Counts what is in memory already, room or not. */
  reserve(bytes: number): Share {
    return new Share(bytes, this.#change)
  }

  /** Resolves in turn, when there is room. A share larger than the whole budget is given alone. */
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
      first.grant(this.reserve(first.bytes))
    }
  }

  #fits(bytes: number): boolean {
    return this.#reserved === 0 || this.#reserved + bytes <= this.#max
  }
}
