import { fileURLToPath } from 'node:url'

import { run } from '../processes/os-process.ts'

const SCRIPT = fileURLToPath(new URL('unpack-debian.sh', import.meta.url))

/** Unpacks Debian packages, with what they need, into a directory. Needs no root, installs nothing; throws without apt. */
export async function unpackDebian(
  directory: string,
  packages: readonly string[],
  timeoutMs: number,
): Promise<void> {
  await run('sh', [SCRIPT, directory, ...packages], { timeoutMs })
}
