import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { givenFor, type Environment } from '../../core/settings/setting-files.ts'

/** A first start fetches a server and makes a database. */
const START_MS = 300_000
/** `npm start` of another terminal may not have taken its directory yet. */
const BEGIN_MS = 5_000
const LOOK_MS = 250

const Told = z.object({ apiUrl: z.string(), apiKey: z.string(), pid: z.number() })

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
  return await findHere(env['DATA_DIR']?.trim() || '.postern', print, stop)
}

/** Waits for a relay that is starting, and says so. */
async function findHere(
  dataDir: string,
  print: (line: string) => void,
  stop: AbortSignal,
): Promise<FoundRelay> {
  const startedAt = performance.now()
  let said = ''
  const say = (line: string): void => {
    if (line !== said) print(line)
    said = line
  }
  let isStarting = false
  while (performance.now() - startedAt < (isStarting ? START_MS : BEGIN_MS)) {
    const holder = Number.parseInt(read(join(dataDir, 'lock')) ?? '', 10)
    if (isAlive(holder)) {
      const told = toldIn(join(dataDir, 'standalone.json'))
      // The file of a start that was killed is there until the next one has begun.
      if (told?.pid === holder) return told
      isStarting = true
      say(`The relay in ${dataDir} is starting: waiting for it`)
    } else if (isStarting) {
      break
    } else {
      say(`No relay runs in ${dataDir}: waiting ${BEGIN_MS / 1_000} s for npm start`)
    }
    await sleep(LOOK_MS, undefined, { signal: stop })
  }
  throw new Error(
    `The relay in ${dataDir} ${isStarting ? 'did not become ready' : 'does not run'}. Start it with npm start in another terminal, and this once more. DATA_DIR names another directory; POSTERN_URL and POSTERN_API_KEY another relay.`,
  )
}

function toldIn(file: string): z.infer<typeof Told> | undefined {
  try {
    return Told.safeParse(JSON.parse(read(file) ?? '')).data
  } catch {
    return undefined
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
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
