import { fileURLToPath } from 'node:url'

import { run } from './os-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TIMEOUT_MS = 300_000

/** Runs a program of the repository to its end. Returns what it printed; throws with its complaint when it fails. */
export async function runProgram(
  main: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
): Promise<string> {
  return await run(process.execPath, [main, ...args], { cwd: ROOT, env, timeoutMs: TIMEOUT_MS })
}
