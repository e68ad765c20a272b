import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

/** A first start fetches a server and makes a database. */
const START_MS = 300_000
/** `npm start` of another terminal may not have taken its directory yet. */
const BEGIN_MS = 5_000
const LOOK_MS = 250

const RunningRelay = z.object({ apiUrl: z.string(), apiKey: z.string(), pid: z.number() })

type RunningRelay = z.infer<typeof RunningRelay>

interface Waiting {
  dataDir: string
  /** The process that holds the lock of the data directory; undefined when none does. */
  holder: () => number | undefined
  print: (line: string) => void
  stop: AbortSignal
  /** A sentence that says how to name another relay. */
  elsewhere: string
}

/**
 * Reads standalone.json of the relay that runs in the data directory. Waits for a relay that is starting, and shortly for one
 * to start, and says so; throws when there is none.
 */
export async function awaitRunningRelay(waiting: Waiting): Promise<RunningRelay> {
  const { dataDir, stop, elsewhere } = waiting
  const startedAt = performance.now()
  let said = ''
  const say = (line: string): void => {
    if (line !== said) waiting.print(line)
    said = line
  }
  let isStarting = false
  while (performance.now() - startedAt < (isStarting ? START_MS : BEGIN_MS)) {
    const holder = waiting.holder()
    if (holder !== undefined) {
      const told = toldIn(join(dataDir, 'standalone.json'))
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
    `The relay in ${dataDir} ${why}. Start it with npm start in another terminal, and this once more. ${elsewhere}`,
  )
}

/** Undefined too for a file of another version: a start that is under way replaces it. */
function toldIn(file: string): RunningRelay | undefined {
  try {
    return RunningRelay.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data
  } catch {
    return undefined
  }
}
