import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const POLL_MS = 20

/** Tells the operator, in plain words, what was done. */
export type Print = (line: string) => void

/**
 * The start of a process in the system's own words, which tells it from a later one with the same pid. Undefined when
 * there is no such process, or only a zombie that nobody has reaped.
 */
export function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return ps(pid, 'lstart=')
  const fields = readProc(pid, 'stat')?.split(') ').at(-1)?.split(' ')
  return fields?.[0] === 'Z' || fields?.[0] === 'X' ? undefined : fields?.[19]
}

export function isAlive(pid: number): boolean {
  return startOf(pid) !== undefined
}

/** The command line of a process; empty when it is gone. */
export function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'args=') ?? ''
  return readProc(pid, 'cmdline')?.replaceAll('\0', ' ') ?? ''
}

function readProc(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined // The process is gone; there is no other reason for a file of /proc to be unreadable.
  }
}

function ps(pid: number, column: string): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() === '' ? undefined : stdout.trim()
}

/** Sends a signal; false when the process is gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

/** Resolves when the process is gone; false when it still runs after `timeoutMs`. */
export async function isGone(pid: number, timeoutMs: number): Promise<boolean> {
  return await waitFor(() => !isAlive(pid), timeoutMs)
}

/** Polls until `isTrue` answers true; false when it does not within `timeoutMs`. */
export async function waitFor(
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!(await isTrue())) {
    if (performance.now() > deadline) return false
    await sleep(POLL_MS)
  }
  return true
}

export interface RunOptions {
  cwd?: string
  env?: Record<string, string | undefined>
  uid?: number
  gid?: number
  timeoutMs?: number
}

/** The standard output of a command that ends with 0. Throws with what it wrote to standard error. */
export async function run(
  file: string,
  args: readonly string[],
  { timeoutMs = 300_000, ...options }: RunOptions = {},
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(file, args, { ...options, timeout: timeoutMs })
    return stdout
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new Error(`${[file, ...args].join(' ')} failed${said === '' ? '' : `: ${said}`}`, {
      cause: error,
    })
  }
}

/** The same, as undefined instead of a failure: for asking whether something is there. */
export async function ask(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string | undefined> {
  return await run(file, args, options).catch(() => undefined)
}
