import type { Logger } from '../../core/log.ts'

const AGAIN_MS = 10 * 60_000

/** Says what is wrong once, not with every try; again when it changes, or is still so after ten minutes. */
export class Telling {
  readonly #log: Logger
  readonly #said = new Map<string, number>()
  #last: string | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** The fault that was told last, while it lasts. */
  get last(): string | undefined {
    return this.#last
  }

  warn(line: string): void {
    this.#say('warn', line)
  }

  error(line: string): void {
    this.#say('error', line)
  }

  /** Nothing is wrong. */
  clear(): void {
    this.#said.clear()
    this.#last = undefined
  }

  #say(level: 'warn' | 'error', line: string): void {
    this.#last = line
    const key = `${level} ${line}`
    const saidAt = this.#said.get(key)
    if (saidAt !== undefined && performance.now() - saidAt < AGAIN_MS) return
    this.#said.set(key, performance.now())
    this.#log[level](line)
  }
}
