/** No turn is given: too many wait, and no other key has more of them. */
export class TurnsTaken extends Error {
  override readonly name = 'TurnsTaken'
}

interface Waiter {
  go(): void
  refuse(error: TurnsTaken): void
}

/**
 * Lets so many through at once; the keys of those that wait take turns. When as many wait as may, the newest of the longest
 * queue is refused with TurnsTaken, so that a key with many waiters neither delays nor displaces another.
 */
export class FairTurns {
  #free: number
  readonly #waitingMax: number
  #waiting = 0
  /** In the order of their next turn. */
  readonly #queues = new Map<string, Waiter[]>()

  constructor({ places, waitingMax }: { places: number; waitingMax: number }) {
    this.#free = places
    this.#waitingMax = waitingMax
  }

  async take<T>(key: string, act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await this.#wait(key)
    try {
      return await act()
    } finally {
      this.#pass()
    }
  }

  async #wait(key: string): Promise<void> {
    if (this.#waiting >= this.#waitingMax) this.#shorten(key)
    await new Promise<void>((resolve, reject) => {
      const queue = this.#queues.get(key) ?? []
      queue.push({ go: resolve, refuse: reject })
      this.#queues.set(key, queue)
      this.#waiting++
    })
  }

  /** Makes room for a waiter of `key`. Throws TurnsTaken when its own queue is among the longest. */
  #shorten(key: string): void {
    const [longest] = [...this.#queues].toSorted(([, a], [, b]) => b.length - a.length)
    const own = this.#queues.get(key)?.length ?? 0
    if (longest === undefined || own + 1 >= longest[1].length) {
      throw new TurnsTaken('Too many wait for a turn')
    }
    const [other, queue] = longest
    queue.pop()?.refuse(new TurnsTaken('Too many wait for a turn'))
    this.#waiting--
    if (queue.length === 0) this.#queues.delete(other)
  }

  #pass(): void {
    const [first] = this.#queues
    if (first === undefined) {
      this.#free++
      return
    }
    const [key, queue] = first
    this.#queues.delete(key)
    const next = queue.shift()
    if (queue.length > 0) this.#queues.set(key, queue)
    this.#waiting--
    next?.go()
  }
}
