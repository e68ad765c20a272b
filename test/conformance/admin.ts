import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { inject } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { dataDir, clockFile } = inject('installation')
const run = promisify(execFile)
/** Half of what a command takes is the reading of its modules. */
const NODE_COMPILE_CACHE = join(dirname(clockFile), 'compile-cache')

/** `npm run admin -- <words>`: what it printed. Throws with its complaint when it refuses. */
export async function admin(...words: string[]): Promise<Record<string, unknown>> {
  const settings = { DATA_DIR: dataDir, TEST_CLOCK_FILE: clockFile }
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE, ...settings }
  const { stdout } = await run(process.execPath, ['api/admin/main.ts', ...words], {
    cwd: ROOT,
    env,
  })
  return JSON.parse(stdout)
}
