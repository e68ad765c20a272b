import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { PROCESS_HEADER } from '../core/ops.ts'
import { urlOn } from './addresses.ts'
import { answersOk } from './processes/answers-ok.ts'
import { openBackoff } from './processes/backoff.ts'
import { lastLines, trimLog, withLog } from './processes/log-file.ts'
import { roleArguments } from './processes/node-settings.ts'
import { isGone, signal, waitFor, type Print } from './processes/os-process.ts'
import { freePort, isFree } from './processes/ports.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const READY_MS = 60_000
/** Before it was ready once. Afterwards it is started again for ever. */
const DEATHS_MAX = 4
const STOP_MS = 6_000
const LOG_TRIM_MS = 2_000

export interface RoleOptions {
  name: string
  /** The file to run, below the repository: `api/main.ts`. */
  main: string
  env: Record<string, string | undefined>
  log: string
  /** Where it serves its health and metrics, so where it is asked whether it is ready. */
  host: string
  /** The port for them, while it is free: whoever scrapes it was told it once. */
  opsPort: number
  print: Print
  /** Told the port on which it serves them, each time that it starts. */
  onPort?: (opsPort: number) => void
  /** Ends the wait for readiness. */
  stop: AbortSignal
}

/** A role that runs as a process of its own and is started again whenever it ends. All it prints goes to its log. */
export interface Role extends AsyncDisposable {
  name: string
  pid(): number | undefined
  /** Resolves when /readyz answers 200. Throws with the end of the role's log when it does not. */
  ready(): Promise<void>
}

interface State {
  child: ChildProcess | undefined
  opsPort: number
  deaths: number
}

export function startRole(options: RoleOptions): Role {
  const stop = new AbortController()
  const state: State = { child: undefined, opsPort: options.opsPort, deaths: 0 }
  const kept = keepRunning(options, stop.signal, state)
  const trimmer = setInterval(() => trimLog(options.log), LOG_TRIM_MS)
  return {
    name: options.name,
    pid: () => state.child?.pid,
    ready: () => untilReady(options, state),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      clearInterval(trimmer)
      await endChild(state.child)
      await kept
    },
  }
}

async function keepRunning(
  { name, main, env, log, host, opsPort, print, onPort }: RoleOptions,
  stopped: AbortSignal,
  state: State,
): Promise<void> {
  const backoff = openBackoff()
  while (!stopped.aborted) {
    const startedAt = performance.now()
    state.opsPort = (await isFree(opsPort, host)) ? opsPort : await freePort()
    onPort?.(state.opsPort)
    if (stopped.aborted) return
    const child = forkRole({ name, main, log }, { ...env, OPS_PORT: String(state.opsPort) })
    state.child = child
    const [code, signalName] = await ended(child)
    if (stopped.aborted) return
    state.deaths++
    const waitMs = backoff.next(performance.now() - startedAt)
    print(
      `${name} ended (${signalName ?? `exit ${code}`}), starting it again in ${waitMs} ms: ${log}`,
    )
    await sleep(waitMs, undefined, { signal: stopped }).catch(() => {})
  }
}

/** In a session of its own, so that a Ctrl-C in the terminal reaches the supervisor alone. */
function forkRole(
  { name, main, log }: Pick<RoleOptions, 'name' | 'main' | 'log'>,
  env: RoleOptions['env'],
): ChildProcess {
  return withLog(log, (descriptor) =>
    fork(main, [], {
      cwd: ROOT,
      env,
      detached: true,
      execArgv: roleArguments(name),
      stdio: ['ignore', descriptor, descriptor, 'ipc'],
    }),
  )
}

async function ended(child: ChildProcess): Promise<[number | null, string | null]> {
  try {
    const [code, name]: unknown[] = await once(child, 'exit')
    return [typeof code === 'number' ? code : null, typeof name === 'string' ? name : null]
  } catch {
    return [null, 'it could not be started'] // once() rejects with the 'error' of a failed spawn.
  }
}

async function untilReady({ name, log, host, stop }: RoleOptions, state: State): Promise<void> {
  const isReady = async () => {
    stop.throwIfAborted()
    if (state.deaths >= DEATHS_MAX)
      throw new Error(`${name} does not start:\n${lastLines(log, 15)}`)
    // Two installations that start at once may have found the same port free.
    const own = { [PROCESS_HEADER]: String(state.child?.pid) }
    return await answersOk(`${urlOn(host, state.opsPort)}/readyz`, own)
  }
  if (await waitFor(isReady, READY_MS)) return
  throw new Error(
    `${name} is not ready after ${READY_MS / 1000} s. Its log ends:\n${lastLines(log, 15)}`,
  )
}

async function endChild(child: ChildProcess | undefined): Promise<void> {
  const pid = child?.pid
  if (pid === undefined || child?.exitCode !== null || child.signalCode !== null) return
  if (signal(pid, 'SIGTERM') && !(await isGone(pid, STOP_MS))) signal(pid, 'SIGKILL')
}
