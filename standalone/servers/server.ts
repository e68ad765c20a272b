import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

import { withLog } from '../processes/log-file.ts'
import { isAlive, isGone, signal } from '../processes/os-process.ts'

/** A running PostgreSQL or NATS, started by us or found running in our data directory. */
export interface Server extends AsyncDisposable {
  url: string
  port: number
  pid: number
  version: string
  /** It ran already, left behind by an earlier start that was killed. */
  wasAdopted: boolean
  /** Resolves once the process is gone, for whatever reason. */
  died: Promise<void>
  stop(): Promise<void>
}

const WATCH_MS = 200

export interface ServerCommand {
  file: string
  args: readonly string[]
  log: string
  options: { cwd: string; env: Record<string, string>; uid?: number; gid?: number }
}

/**
 * Starts a server in a session of its own, so that a Ctrl-C reaches us alone and we stop things in order. It
 * writes to its log itself, which goes on when we are killed.
 */
export async function spawnServer({
  file,
  args,
  log,
  options,
}: ServerCommand): Promise<ChildProcess> {
  const child = withLog(log, (descriptor) =>
    spawn(file, args, { ...options, detached: true, stdio: ['ignore', descriptor, descriptor] }),
  )
  await once(child, 'spawn')
  return child
}

/** Resolves when a child exits or, for a process that is not our child, when it is no longer there. */
export async function death(pid: number, child?: ChildProcess): Promise<void> {
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit')
  }
  while (isAlive(pid)) await sleep(WATCH_MS)
}

/** Asks a process to end with each signal in turn, the next one when it is still there after `patienceMs`. */
export async function end(
  pid: number,
  signals: readonly NodeJS.Signals[],
  patienceMs: number,
): Promise<void> {
  for (const name of signals) {
    if (!signal(pid, name) || (await isGone(pid, patienceMs))) return
  }
}
