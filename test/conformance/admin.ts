import { inject } from 'vitest'

import { runAdmin } from '../kit/program.ts'

const { dataDir, clockFile } = inject('installation')

/** `npm run admin -- <words>`: what it printed. Throws with its complaint when it refuses. */
export async function admin(...words: string[]): Promise<Record<string, unknown>> {
  const ran = await runAdmin(words, { DATA_DIR: dataDir, TEST_CLOCK_FILE: clockFile })
  if (ran.code !== 0) throw new Error(ran.stderr)
  return JSON.parse(ran.stdout)
}
