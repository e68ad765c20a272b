import type { Logger } from '../core/log.ts'
import { nowDoing } from '../core/loop/watch.ts'

/** How long a task rests until its next run, if not for its interval. */
export interface Rest {
  restMs: number
}

export interface EveryOptions {
  signal: AbortSignal
  log: Logger
  name: string
  /** Ends a rest. */
  bell?: Bell
}

/**
 * Runs `task` again and again, `intervalMs` after it ended, or after the rest that it asks for, until aborted. A failure is
 * logged and the next run is the retry: what these tasks need (PostgreSQL, NATS) goes away and comes back.
 */
export async function every(
  intervalMs: number,
  { signal, log, name, bell = new Bell() }: EveryOptions,
  task: () => Promise<Rest | void>,
): Promise<void> {
  signal.addEventListener('abort', () => bell.ring(), { once: true })
  while (!signal.aborted) {
    let restMs = intervalMs
    try {
      nowDoing(name)
      const rest = await task()
      if (rest !== undefined) restMs = rest.restMs
    } catch (err) {
      log.warn({ err, task: name }, 'A periodic task failed')
    }
    if (!signal.aborted) await bell.within(restMs)
  }
}

/** Ends the wait for it. A ring that nobody waits for ends the next wait at once. */
export class Bell {
  #heard: (() => void) | undefined
  #isRung = false

  ring(): void {
    this.#isRung = true
    this.#heard?.()
  }

  async within(ms: number): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#heard = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#heard = undefined
    }
    this.#isRung = false
  }
}

/** Lets a task that finds nothing rest twice as long each time, up to `mostMs`; with work it comes at its interval again. */
export class Idleness {
  readonly #intervalMs: number
  readonly #mostMs: number
  #restMs: number

  constructor(intervalMs: number, mostMs: number) {
    this.#intervalMs = intervalMs
    this.#mostMs = mostMs
    this.#restMs = intervalMs
  }

  after(hasWorked: boolean): Rest {
    this.#restMs = hasWorked ? this.#intervalMs : Math.min(this.#restMs * 2, this.#mostMs)
    return { restMs: this.#restMs }
  }
}
