import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'

import { lastLines, withLog } from '../../standalone/processes/log-file.ts'
import { waitFor } from '../../standalone/processes/os-process.ts'

/** A process of a peer. */
export interface Child extends AsyncDisposable {
  pid(): number
  /** As kill -9 does. Resolves once it runs again. */
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
const LINES_SHOWN = 15

export async function startChild(options: ChildOptions): Promise<Child> {
  let child = await launch(options)
  return {
    pid: () => child.pid ?? 0,
    async kill() {
      await end(child, 'SIGKILL')
      child = await launch(options)
    },
    async [Symbol.asyncDispose]() {
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await end(child, 'SIGTERM')
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
    child.exitCode !== null || port === undefined || (await listens(port))
  if (!(await waitFor(isReady, READY_MS)) || child.exitCode !== null) {
    child.kill('SIGKILL')
    throw new Error(`${name} does not start:\n${lastLines(log, LINES_SHOWN)}`)
  }
  return child
}

async function end(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(name)
  await exited
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
