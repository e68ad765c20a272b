import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { lockState } from '../../connector-agent/relay/state-lock.ts'

/** Exact versions: another one makes other clients. */
const NPM = [
  '@hey-api/openapi-ts@0.99.0',
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  '@types/node@26.6.6',
  'openapi-fetch@0.17.0',
  'openapi-typescript@7.13.0',
  // openapi-typescript and its users are not on 7 yet.
  'typescript@5.9.3',
]
const PYTHON = ['openapi-python-client==0.29.1', 'mypy==2.4.1', 'requests==2.34.2']
const OAPI_CODEGEN = 'v2.8.2'
const GO_PACKAGE = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${OAPI_CODEGEN}`

const CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'postern',
  'openapi-tools',
)

/** Ends a test with what the program printed, if it failed. */
export async function run(
  command: string,
  args: readonly string[],
  { cwd, env, input = '' }: { cwd: string; env?: Readonly<Record<string, string>>; input?: string },
): Promise<string> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } })
  const output: Buffer[] = []
  // It may end without having read anything.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  const text = Buffer.concat(output).toString()
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${text}`)
  return text
}

/** Whether a program is there at all. */
export async function has(command: string, ...args: string[]): Promise<boolean> {
  try {
    await run(command, args, { cwd: '.' })
    return true
  } catch {
    return false
  }
}

/** The directory with `node_modules` in it. */
export async function npmTools(): Promise<string> {
  return await installed('npm', NPM, async (cwd) => {
    writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}')
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...NPM], { cwd })
  })
}

/** The directory of a virtual environment. */
export async function pythonTools(): Promise<string> {
  // An environment holds its own path, so that it is made where it stays.
  return await installed('python', PYTHON, async (cwd) => {
    await run('python3', ['-m', 'venv', '.'], { cwd })
    await run(join(cwd, 'bin', 'pip'), ['install', '--quiet', ...PYTHON], { cwd })
  })
}

/** The directory with `oapi-codegen` in it. */
export async function goTools(): Promise<string> {
  return await installed('go', [GO_PACKAGE], async (cwd) => {
    await run('go', ['install', GO_PACKAGE], { cwd, env: { GOBIN: cwd } })
  })
}

/** Files of tests run side by side: one installs, the others wait. */
async function lockCache(): Promise<Disposable> {
  for (;;) {
    const lock = await lockState(CACHE, 'taken').catch(() => undefined)
    if (lock !== undefined) return lock
    await sleep(250)
  }
}

/** Installs once for all later runs. Half an installation is begun again. */
async function installed(
  kind: string,
  packages: readonly string[],
  install: (directory: string) => Promise<void>,
): Promise<string> {
  const versions = packages.map((name) => name.split(/[@=]/).at(-1)).join('-')
  const directory = join(CACHE, `${kind}-${versions}`)
  const done = join(directory, '.done')
  mkdirSync(CACHE, { recursive: true })
  using _lock = await lockCache()
  if (existsSync(done)) return directory
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  await install(directory)
  writeFileSync(done, '')
  return directory
}
