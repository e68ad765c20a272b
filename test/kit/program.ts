import { execFile } from 'node:child_process'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'

import { COMPILE_CACHE } from '../../standalone/processes/node-settings.ts'
import { NATS_CACHE } from './servers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The environment that a program inherits from this process. */
export const SURROUNDINGS = {
  /** With the nats-server that the global setup found or fetched, so that no installation fetches one of its own. */
  PATH: [NATS_CACHE, process.env['PATH'] ?? ''].join(delimiter),
  NODE_COMPILE_CACHE: COMPILE_CACHE,
}

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** `npm run admin -- <words>` with these settings. */
export async function runAdmin(
  words: readonly string[],
  settings: Record<string, string>,
): Promise<Ran> {
  return await new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...SURROUNDINGS, ...settings } }
    execFile(process.execPath, ['api/admin/main.ts', ...words], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}
