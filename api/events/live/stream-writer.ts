import { Readable } from 'node:stream'

export interface OutletLimits {
  bytes: number
  messages: number
}

interface Chunk {
  data: Buffer
  messages: number
}

/** The body of a stream's answer: keeps what the client has not taken yet, within bounds. */
export class StreamWriter extends Readable {
  readonly #limits: OutletLimits
  #chunks: Chunk[] = []
  #bytes = 0
  #messages = 0
  #isWanted = false
  #isEnding = false
  #drained: (() => void)[] = []
  /** Rises whenever the client has taken something. */
  taken = 0

  constructor(limits: OutletLimits) {
    super()
    this.#limits = limits
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** False when it does not fit: nothing was added. */
  add(text: string, messages: number): boolean {
    if (this.#isEnding || this.destroyed) return true
    const data = Buffer.from(text)
    const isFull =
      this.#bytes + data.length > this.#limits.bytes ||
      this.#messages + messages > this.#limits.messages
    if (isFull && !this.isEmpty) return false
    this.#put({ data, messages })
    return true
  }

  /** Ends the answer with these last words; what was not taken yet is thrown away. */
  end(text: string): void {
    if (this.#isEnding || this.destroyed) return
    this.#forget()
    this.#isEnding = true
    if (text === '') this.#flush()
    else this.#put({ data: Buffer.from(text), messages: 1 })
  }

  /** Resolves when the client has taken everything, or is gone. */
  async drained(): Promise<void> {
    if (this.isEmpty || this.destroyed) return
    await new Promise<void>((resolve) => this.#drained.push(resolve))
  }

  override _read(): void {
    this.#isWanted = true
    this.taken++
    this.#flush()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#forget()
    this.#release()
    done(error)
  }

  #put(chunk: Chunk): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.data.length
    this.#messages += chunk.messages
    this.#flush()
  }

  #flush(): void {
    while (this.#isWanted) {
      const chunk = this.#chunks.shift()
      if (chunk === undefined) break
      this.#bytes -= chunk.data.length
      this.#messages -= chunk.messages
      this.#isWanted = this.push(chunk.data)
    }
    if (!this.isEmpty) return
    this.#release()
    if (this.#isEnding && !this.readableEnded && !this.destroyed) this.push(null)
  }

  #forget(): void {
    this.#chunks = []
    this.#bytes = 0
    this.#messages = 0
  }

  #release(): void {
    const waiting = this.#drained
    this.#drained = []
    for (const resolve of waiting) resolve()
  }
}
