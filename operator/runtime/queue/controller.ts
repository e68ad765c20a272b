import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../../../core/log.ts'
import { ApiError, isStatus } from '../kube/api-error.ts'
import type { ControllerMetrics } from '../metrics.ts'
import { WorkQueue } from './work-queue.ts'

/** When to look again; nothing to wait for when it is absent. */
export interface Outcome {
  againMs?: number | undefined
}

export interface ControllerOptions {
  name: string
  /** Keys of a lane that are reconciled at once; lanes do not wait for each other. */
  inLaneMax: number
  laneOf?: (key: string) => string
  log: Logger
  metrics: ControllerMetrics
  /** Brings the world in line with the object of that key, from whatever state it is in. */
  reconcile: (key: string) => Promise<Outcome>
}

/** Reconciles the keys of a queue. Nearly all of a reconciliation is waiting for an answer, so that only lanes are bounded. */
export class Controller {
  readonly queue: WorkQueue
  readonly #options: ControllerOptions

  constructor(options: ControllerOptions) {
    const { name, metrics, laneOf, inLaneMax } = options
    this.#options = options
    this.queue = new WorkQueue({
      metrics: metrics.queue(name),
      inLaneMax,
      ...(laneOf !== undefined && { laneOf }),
    })
    metrics.watchQueue(name, () => this.queue.depth)
  }

  /** Ends when the signal is given and what is in hand is finished. */
  async run(signal: AbortSignal): Promise<void> {
    const close = (): void => this.queue.close()
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    const inHand = new Set<Promise<void>>()
    for (let key = await this.queue.take(); key !== undefined; key = await this.queue.take()) {
      const working = this.#work(key, signal)
      inHand.add(working)
      void working.finally(() => inHand.delete(working))
      // Between two keys, so that a thousand of them that need nothing leave the loop its turns.
      await sleep(0)
    }
    await Promise.all(inHand)
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    await this.#reconcile(key, signal)
    this.queue.done(key)
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { name, log, metrics, reconcile } = this.#options
    const began = performance.now()
    let result = 'success'
    try {
      const { againMs } = await reconcile(key)
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
