import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { givenFor, type Environment } from '../../core/settings/setting-files.ts'
import { awaitRunningRelay } from '../../core/this-machine/running-relay.ts'

export interface FoundRelay {
  apiUrl: string
  apiKey: string
}

/** The relay of POSTERN_URL, or else the one that runs on this machine. Throws an error that says how to name one. */
export async function findRelay(
  env: Environment,
  print: (line: string) => void,
  stop: AbortSignal,
): Promise<FoundRelay> {
  const key = givenFor('POSTERN_API_KEY', env)
  if (key.fault !== undefined) throw new Error(`Cannot listen: ${key.fault}`)
  const url = env['POSTERN_URL']?.trim() ?? ''
  if (url !== '') {
    if (key.value === undefined) {
      throw new Error('Cannot listen: POSTERN_URL names a relay, and POSTERN_API_KEY is missing')
    }
    return { apiUrl: url, apiKey: key.value }
  }
  const dataDir = env['DATA_DIR']?.trim() || '.postern'
  return await awaitRunningRelay({
    dataDir,
    holder: () => holderOf(dataDir),
    print,
    stop,
    elsewhere: 'DATA_DIR names another directory; POSTERN_URL and POSTERN_API_KEY another relay.',
  })
}

/** The process that is named in the lock of a data directory; undefined when it does not run. */
function holderOf(dataDir: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(dataDir, 'lock'), 'utf8'), 10)
    return isAlive(pid) ? pid : undefined
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return Number.isInteger(pid) && process.kill(pid, 0)
  } catch (error) {
    // The process of another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
