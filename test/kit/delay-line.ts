import { Transform, type TransformCallback } from 'node:stream'

/** Passes everything on in order, each piece so many milliseconds after it came. */
export class DelayLine extends Transform {
  delayMs: number
  /** When the last piece is passed on, on the monotonic clock. */
  #lastAt = 0
  readonly #waiting: (() => void)[] = []

  constructor(delayMs: number) {
    super()
    this.delayMs = delayMs
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#after(() => this.push(chunk))
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#after(() => done())
  }

  #after(pass: () => void): void {
    const now = performance.now()
    this.#lastAt = Math.max(this.#lastAt, now + this.delayMs)
    if (this.#lastAt <= now && this.#waiting.length === 0) return pass()
    this.#waiting.push(pass)
    // Timers of different lengths may come out of order: each passes on what is first.
    setTimeout(() => {
      const first = this.#waiting.shift()
      if (!this.destroyed) first?.()
    }, this.#lastAt - now)
    return undefined
  }
}
