import { setTimeout as sleep } from 'node:timers/promises'

import { openBackoff } from '../processes/backoff.ts'
import { trimLog } from '../processes/log-file.ts'
import type { Print } from '../processes/os-process.ts'
import type { Server } from './server.ts'

const LOG_TRIM_MS = 2_000

/** Between two looks at a server that answers, and how many in a row must find it useless. */
const LOOK_MS = 5_000
const USELESS_LOOKS = 2

export interface KeptServerOptions {
  name: string
  log: string
  start: (stop: AbortSignal) => Promise<Server>
  /** Tells whether a running server does its work; if not, it is ended and started again. */
  works?: (server: Server) => Promise<boolean>
  print: Print
  /** Gives up the first start. */
  stop: AbortSignal
}

/** A PostgreSQL or NATS that is started again whenever it dies, or does its work no more. */
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
  options: KeptServerOptions,
  stopped: AbortSignal,
  state: { server: Server },
): Promise<void> {
  const { name, start, print } = options
  const backoff = openBackoff()
  while (!stopped.aborted) {
    const startedAt = performance.now()
    await deathOf(state.server, options, stopped)
    if (stopped.aborted) return
    const waitMs = backoff.next(performance.now() - startedAt)
    print(`${name} died, starting it again in ${waitMs} ms`)
    await sleep(waitMs, undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) return
    try {
      state.server = await start(stopped)
    } catch (error) {
      if (!stopped.aborted) print(String(error)) // The dead server's promise is still resolved, so the loop tries again.
    }
  }
}

/** Resolves when the server is gone; one that is useless is ended. */
async function deathOf(
  server: Server,
  { name, works, print }: KeptServerOptions,
  stopped: AbortSignal,
): Promise<void> {
  if (works === undefined) {
    await server.died
    return
  }
  const over = new AbortController()
  const died = server.died.then(() => over.abort())
  const signal = AbortSignal.any([stopped, over.signal])
  let useless = 0
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) break
    useless = (await works(server)) ? 0 : useless + 1
    if (useless < USELESS_LOOKS || signal.aborted) continue
    print(`${name} does not work any more (pid ${server.pid}): ending it`)
    await server.stop()
    break
  }
  await died
}
