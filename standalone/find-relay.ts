import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { readJsonFile } from './processes/json-file.ts'
import { holderOf } from './processes/lock.ts'
import type { Print } from './processes/os-process.ts'

/** A first start fetches a server and makes a database. */
const START_MS = 300_000
/** `npm start` of another terminal may not have taken its directory yet. */
const BEGIN_MS = 5_000
const LOOK_MS = 250

const Told = z.object({ apiUrl: z.string(), apiKey: z.string(), pid: z.number() })

/**
 * Reads standalone.json of the relay that runs in the data directory. Waits for a relay that is starting, and shortly for one
 * to start, and says so; throws when there is none.
 */
export async function findRelay(
  dataDir: string,
  print: Print,
  stop: AbortSignal,
): Promise<z.infer<typeof Told>> {
  const startedAt = performance.now()
  let said = ''
  const say = (line: string): void => {
    if (line !== said) print(line)
    said = line
  }
  let isStarting = false
  while (performance.now() - startedAt < (isStarting ? START_MS : BEGIN_MS)) {
    const holder = holderOf(dataDir)
    if (holder !== undefined) {
      const told = readJsonFile(join(dataDir, 'standalone.json'), Told)
      // The file of a start that was killed is there until the next one has begun.
      if (told?.pid === holder) return told
      isStarting = true
      say(`The relay in ${dataDir} is starting (pid ${holder}): waiting for it`)
    } else if (isStarting) {
      break
    } else {
      say(`No relay runs in ${dataDir}: waiting ${BEGIN_MS / 1_000} s for npm start`)
    }
    await sleep(LOOK_MS, undefined, { signal: stop })
  }
  const why = isStarting ? 'did not become ready' : 'does not run'
  throw new Error(
    `The relay in ${dataDir} ${why}. Start it with npm start in another terminal, and this once more; DATA_DIR names another directory.`,
  )
}
