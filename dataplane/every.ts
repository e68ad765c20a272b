import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from '../core/log.ts'
import { nowDoing } from '../core/loop/watch.ts'

/**
 * Runs `task` again and again, `intervalMs` after it ended, until aborted. A failure is logged and the next run is the
 * retry: what these tasks need (PostgreSQL, NATS) goes away and comes back.
 */
export async function every(
  intervalMs: number,
  options: { signal: AbortSignal; log: Logger; name: string },
  task: () => Promise<void>,
): Promise<void> {
  while (!options.signal.aborted) {
    try {
      nowDoing(options.name)
      await task()
    } catch (err) {
      options.log.warn({ err, task: options.name }, 'A periodic task failed')
    }
    await sleep(intervalMs, undefined, { signal: options.signal }).catch(ignoreAbort)
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error
}
