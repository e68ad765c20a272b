import { spawnSync } from 'node:child_process'

const LINES_SHOWN = 40
const OUTPUT_MAX = 256 * 1024 * 1024

export interface CommandOptions {
  cwd: string
  env: Readonly<Record<string, string | undefined>>
}

/** The bytes that a command printed. Throws with the end of all that it said when it fails. */
export function outputOf(
  file: string,
  args: readonly string[],
  { cwd, env }: CommandOptions,
): Buffer {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    cwd,
    env,
    maxBuffer: OUTPUT_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (error !== undefined) throw new Error(`${file} does not run: ${error.message}`)
  if (status === 0) return stdout
  const said = `${String(stdout)}\n${String(stderr)}`.trim().split('\n').slice(-LINES_SHOWN)
  throw new Error(`${[file, ...args].join(' ')} ended with ${status}:\n${said.join('\n')}`)
}

export function isInstalled(file: string, options: CommandOptions): boolean {
  return spawnSync(file, ['--version'], { ...options, stdio: 'ignore' }).error === undefined
}
