import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../../../core/log.ts'
import { ApiError, isStatus } from '../kube/api-error.ts'
import type { ControllerMetrics } from '../metrics.ts'
import { WorkQueue } from './work-queue.ts'

/** A reconciliation that takes longer is given up, and tried again. */
const RECONCILE_TIMEOUT_MS = 120_000

/** When to look again; nothing to wait for when it is absent. */
export interface Outcome {
  againMs?: number | undefined
}

export interface ControllerOptions {
  name: string
  workers: number
  log: Logger
  metrics: ControllerMetrics
  /** Brings the world in line with the object of that key, from whatever state it is in. */
  reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>
}

/** Workers that take keys from a queue, one worker for a key at a time. */
export class Controller {
  readonly queue: WorkQueue
  readonly #options: ControllerOptions

  constructor(options: ControllerOptions) {
    this.#options = options
    this.queue = new WorkQueue(options.metrics.queue(options.name))
    options.metrics.watchQueue(options.name, () => this.queue.depth)
  }

  /** Ends when the signal is given and what is in hand is finished. */
  async run(signal: AbortSignal): Promise<void> {
    const close = (): void => this.queue.close()
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    const { workers } = this.#options
    await Promise.all(Array.from({ length: workers }, async () => await this.#work(signal)))
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.queue.take()
      if (key === undefined) return
      await this.#reconcile(key, signal)
      this.queue.done(key)
      // Between two keys, so that a thousand of them that need nothing leave the loop its turns.
      await sleep(0)
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { name, log, metrics, reconcile } = this.#options
    const began = performance.now()
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(RECONCILE_TIMEOUT_MS)])
    let result = 'success'
    try {
      const { againMs } = await reconcile(key, bounded)
      this.queue.forget(key)
      if (againMs !== undefined) {
        this.queue.addAfter(key, againMs)
        result = 'requeue_after'
      }
    } catch (error) {
      if (signal.aborted) return
      const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined
      const inMs = this.queue.addFailed(key, retryAfterMs)
      // A write that met a newer object is the ordinary way to learn of it.
      const isConflict = isStatus(error, 409)
      result = isConflict ? 'requeue' : 'error'
      log[isConflict ? 'debug' : 'warn'](
        { err: error, controller: name, object: key, inMs: Math.round(inMs) },
        'Cannot reconcile: trying again',
      )
    }
    metrics.reconciled(name, result, (performance.now() - began) / 1_000)
  }
}
