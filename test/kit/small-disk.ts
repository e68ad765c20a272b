import { spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BLOCK_BYTES = 1024 * 1024
const FILL_MS = 20

/** A file system of its own, in memory, that a test fills and empties. Disposing of it unmounts it. */
export interface SmallDisk extends Disposable {
  /** Takes all the room there is, and what others give up until it is freed. */
  fill(): void
  free(): void
}

/** Why there can be none; undefined when there can. */
export function whyNoSmallDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'a small disk is a tmpfs, which takes root'
  const path = mkdtempSync(join(tmpdir(), 'postern-mount-'))
  try {
    mount(path, 1)
    unmount(path)
    return undefined
  } catch (error) {
    return `a small disk is a tmpfs: ${String(error)}`
  } finally {
    rmdirSync(path)
  }
}

export function mountSmallDisk(path: string, megabytes: number): SmallDisk {
  mkdirSync(path, { recursive: true })
  mount(path, megabytes)
  const ballast = join(path, 'ballast')
  let filling: NodeJS.Timeout | undefined
  const free = (): void => {
    clearInterval(filling)
    rmSync(ballast, { force: true })
  }
  return {
    fill: () => {
      fill(ballast)
      filling = setInterval(() => fill(ballast), FILL_MS)
    },
    free,
    [Symbol.dispose]: () => {
      free()
      unmount(path)
    },
  }
}

/** Unmounts what a run that was killed has left below a directory. */
export function unmountBelow(directory: string): void {
  if (process.platform !== 'linux') return
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const points = mounts.map((line) => line.split(' ')[1] ?? '')
  for (const point of points.toReversed()) if (point.startsWith(`${directory}/`)) unmount(point)
}

/** Everyone may pass: the user of PostgreSQL has its data below. */
function mount(path: string, megabytes: number): void {
  run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'tmpfs', path])
}

/** At once, whoever still uses it: nothing of it is wanted any more. */
function unmount(path: string): void {
  run('umount', ['--lazy', path])
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
}

function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    // A block that does not fit is halved, down to the last byte.
    for (let bytes = BLOCK_BYTES; bytes >= 1;) {
      if (!hasWritten(descriptor, Buffer.alloc(bytes))) bytes >>= 1
    }
  } finally {
    closeSync(descriptor)
  }
}

/** False when there was no room for all of it. */
function hasWritten(descriptor: number, block: Buffer): boolean {
  try {
    return writeSync(descriptor, block) === block.length
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false
    throw error
  }
}
