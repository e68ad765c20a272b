import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { lastLines, withLog } from '../../standalone/processes/log-file.ts'
import { waitFor } from '../../standalone/processes/os-process.ts'

/** A process of a peer. */
export interface Child extends AsyncDisposable {
  pid(): number
  /** As kill -9 does. Resolves once it has been started again. */
  kill(): Promise<void>
}

export interface ChildOptions {
  /** Names its log, which lies in `directory`. */
  name: string
  file: string
  args: readonly string[]
  env?: Record<string, string>
  directory: string
  /** It is ready once it listens there; without a port, once it runs. */
  port?: number
}

const READY_MS = 30_000
const STOP_MS = 5_000
const AGAIN_MS = 1_000
const BACK_MS = 60_000
const LINES_SHOWN = 15

/** A child that ends, killed or by itself, is started again a second later, as a supervisor does. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const state = { isOver: false }
  let child = await launch(options)
  const keep = async (): Promise<void> => {
    while (!state.isOver) {
      await ended(child)
      await sleep(AGAIN_MS)
      if (!state.isOver) child = await launch(options).catch(() => child)
    }
  }
  const keeping = keep()
  return {
    pid: () => child.pid ?? 0,
    async kill() {
      const killed = child
      killed.kill('SIGKILL')
      if (!(await waitFor(() => child !== killed, BACK_MS))) {
        throw new Error(`${options.name} does not come back`)
      }
    },
    async [Symbol.asyncDispose]() {
      state.isOver = true
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      child.kill('SIGTERM')
      await keeping
      // It may have been started a moment before.
      child.kill('SIGTERM')
      await ended(child)
      clearTimeout(late)
    },
  }
}

async function launch({ name, file, args, env, directory, port }: ChildOptions) {
  const log = join(directory, `${name}.log`)
  const child = withLog(log, (descriptor) =>
    spawn(file, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', descriptor, descriptor],
    }),
  )
  await once(child, 'spawn')
  const isReady = async (): Promise<boolean> =>
    hasEnded(child) || port === undefined || (await listens(port))
  if (!(await waitFor(isReady, READY_MS)) || hasEnded(child)) {
    child.kill('SIGKILL')
    throw new Error(`${name} does not start:\n${lastLines(log, LINES_SHOWN)}`)
  }
  return child
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function ended(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit')
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
