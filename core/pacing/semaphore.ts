/** Lets so many through at once; the others wait in the order they came. */
export class Semaphore {
  readonly #places: number
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#places = places
    this.#free = places
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get isIdle(): boolean {
    return this.#free === this.#places
  }

  async take<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
