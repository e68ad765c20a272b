import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { startOf } from './os-process.ts'

export interface Lock extends Disposable {
  /** An earlier start held the lock and died without giving it back. */
  wasStale: boolean
}

/** Makes this process the only one on a data directory. Throws, naming the pid, when another one holds it. */
export function takeLock(directory: string): Lock {
  const file = join(directory, 'lock')
  const own = `${process.pid} ${startOf(process.pid)}\n`
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, own)
  try {
    const wasStale = clearStale(file, own)
    linkSync(draft, file) // Fails when the file exists: of two starts at once, one wins.
    return {
      wasStale,
      [Symbol.dispose]: () => {
        if (read(file) === own) rmSync(file)
      },
    }
  } catch (error) {
    const holder = read(file)?.split(' ')[0]
    throw new Error(
      `Cannot start: another start (pid ${holder}) already uses ${directory}. Stop it, or set DATA_DIR to another directory.`,
      { cause: error },
    )
  } finally {
    rmSync(draft)
  }
}

/** The process that holds the lock of a data directory; undefined when none does. */
export function holderOf(directory: string): number | undefined {
  const [pid = '', start = ''] = (read(join(directory, 'lock')) ?? '').trim().split(' ')
  return pid !== '' && startOf(Number(pid)) === start ? Number(pid) : undefined
}

function clearStale(file: string, own: string): boolean {
  const held = read(file)
  if (held === undefined) return false
  if (held !== own && holderOf(dirname(file)) !== undefined) return false
  const aside = `${file}.stale.${process.pid}`
  renameSync(file, aside)
  const moved = read(aside)
  rmSync(aside)
  // Another start took the stale lock away and put its own in its place between the two lines above.
  if (moved !== undefined && moved !== held) writeFileSync(file, moved)
  return true
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
