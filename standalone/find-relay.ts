import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { readJsonFile } from './processes/json-file.ts'
import { holderOf } from './processes/lock.ts'
import type { Print } from './processes/os-process.ts'

/** A first start fetches a server and makes a database. */
const START_MS = 300_000
const LOOK_MS = 250

const Told = z.object({ apiUrl: z.string(), apiKey: z.string(), pid: z.number() })

/**
 * Reads standalone.json of the relay that runs in the data directory. Waits for a relay that is starting, and says so;
 * throws when there is none.
 */
export async function findRelay(
  dataDir: string,
  print: Print,
  stop: AbortSignal,
): Promise<z.infer<typeof Told>> {
  const deadline = performance.now() + START_MS
  let hasSaid = false
  while (performance.now() < deadline) {
    const holder = holderOf(dataDir)
    if (holder === undefined) break
    const told = readJsonFile(join(dataDir, 'standalone.json'), Told)
    // The file of a start that was killed is there until the next one has begun.
    if (told?.pid === holder) return told
    if (!hasSaid) print(`The relay in ${dataDir} is starting (pid ${holder}): waiting for it`)
    hasSaid = true
    await sleep(LOOK_MS, undefined, { signal: stop })
  }
  const why = hasSaid ? 'did not become ready' : 'does not run'
  throw new Error(
    `The relay in ${dataDir} ${why}. Start it with npm start in another terminal, and this once more; DATA_DIR names another directory.`,
  )
}
