import { readFileSync } from 'node:fs'

import { z } from 'zod'

import { isAlive, waitFor } from '../../standalone/processes/os-process.ts'
import { startInstallation } from '../installation.ts'
import { pidOf, type Part } from '../processes.ts'
import { addRoutes } from '../routes.ts'
import { BODY_BYTES, type Peer } from './peer.ts'

const BACK_MS = 60_000
const Package = z.object({ version: z.string() })

/** Postern as `npm start` runs it, with every feature that an event can meet. */
export const postern: Peer = {
  name: 'Postern',
  missing: () => undefined,
  version() {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    return `Postern ${Package.parse(JSON.parse(text)).version}`
  },
  async start(destination) {
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await startInstallation())
    const { supervisorPid } = installation
    const routes = { fanOut: 1, bodyBytes: BODY_BYTES, urls: [destination] }
    const { target } = await addRoutes(installation, routes)
    const owned = stack.move()
    return {
      target,
      pids: () => [supervisorPid],
      kill: async () => await killEach(supervisorPid, ['ingest', 'worker']),
      killStores: async () => await killEach(supervisorPid, ['postgres', 'nats']),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    }
  },
}

/** The supervisor starts each again. */
async function killEach(supervisorPid: number, parts: readonly Part[]): Promise<void> {
  for (const part of parts) {
    const killed = pidOf(supervisorPid, part)
    process.kill(killed, 'SIGKILL')
    if (!(await waitFor(() => runsAgain(supervisorPid, part, killed), BACK_MS))) {
      throw new Error(`${part} does not come back`)
    }
  }
}

function runsAgain(supervisorPid: number, part: Part, killed: number): boolean {
  if (isAlive(killed)) return false
  try {
    return pidOf(supervisorPid, part) !== killed
  } catch {
    return false // None runs yet.
  }
}
