import { setTimeout as sleep } from 'node:timers/promises'

import { openBackoff } from './backoff.ts'
import { trimLog } from './log-file.ts'
import type { Say } from './os-process.ts'
import type { Server } from './server.ts'

const LOG_TRIM_MS = 1_000

export interface KeptServerOptions {
  name: string
  log: string
  start: (stop: AbortSignal) => Promise<Server>
  say: Say
  /** Gives up the first start. */
  stop: AbortSignal
}

/** A PostgreSQL or NATS that is started again whenever it dies. */
export interface KeptServer extends AsyncDisposable {
  url: string
}

export async function keepServer(options: KeptServerOptions): Promise<KeptServer> {
  const stop = new AbortController()
  const state = { server: await options.start(options.stop) }
  const trimmer = setInterval(() => trimLog(options.log), LOG_TRIM_MS)
  const kept = keepRunning(options, stop.signal, state)
  return {
    url: state.server.url,
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      clearInterval(trimmer)
      await state.server.stop()
      await kept
      // A start that was under way has either given up or just put its own server there.
      await state.server.stop()
    },
  }
}

async function keepRunning(
  { name, start, say }: KeptServerOptions,
  stopped: AbortSignal,
  state: { server: Server },
): Promise<void> {
  const backoff = openBackoff()
  while (!stopped.aborted) {
    const startedAt = performance.now()
    await state.server.died
    if (stopped.aborted) return
    const waitMs = backoff.next(performance.now() - startedAt)
    say(`${name} died, starting it again in ${waitMs} ms`)
    await sleep(waitMs, undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) return
    try {
      state.server = await start(stopped)
    } catch (error) {
      if (!stopped.aborted) say(String(error)) // The dead server's promise is still resolved, so the loop tries again.
    }
  }
}
