import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import { fetchWithApt } from './apt.ts'
import { ask, run, type Say } from './os-process.ts'

export interface NatsBinary {
  file: string
  /** `2.10.27`. */
  version: string
}

const GO_MODULE = 'github.com/nats-io/nats-server/v2@v2.15.1'
const GO_TIMEOUT_MS = 600_000
/** Below it the relay works as well, without later extras. Below the second nothing is promised. */
const VERSION_WANTED = [2, 10] as const
const VERSION_MIN = [2, 9] as const

export interface NatsBinaryOptions {
  /** Where a fetched nats-server is kept: fetched once. */
  cache: string
  /** NATS_SERVER_BIN: taken as it is. */
  chosen: string | undefined
  /** PATH. */
  path: string
  say: Say
}

/**
 * A nats-server: the chosen one; else the first installed one of 2.10 or newer, else any of 2.9; else one fetched
 * into the cache with apt (no root needed) or Go. Throws with what a person can do.
 */
export async function findNatsBinary(options: NatsBinaryOptions): Promise<NatsBinary> {
  const { chosen, cache, path, say } = options
  if (chosen !== undefined) {
    const version = await versionOf(chosen)
    if (version === undefined) throw new Error(`NATS_SERVER_BIN: ${chosen} --version does not run`)
    return { file: chosen, version }
  }
  const system = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin']
  const folders = [cache, ...path.split(delimiter).filter((folder) => folder !== ''), ...system]
  const found = await usable([...new Set(folders)].map((folder) => join(folder, 'nats-server')))
  const best = found.find(({ version }) => isAtLeast(version, VERSION_WANTED)) ?? found[0]
  if (best !== undefined) return best
  mkdirSync(cache, { recursive: true })
  say('No nats-server is installed: fetching one, once')
  const fetched = (await withApt(cache, say)) ?? (await withGo(cache, say))
  if (fetched !== undefined) return fetched
  throw new Error(
    [
      'Cannot start NATS: there is no nats-server here and neither apt nor Go could fetch one. Do one of these:',
      'brew install nats-server, or apt-get install nats-server, or your system’s package of it',
      'set NATS_SERVER_BIN to the path of a nats-server of 2.10 or newer',
      'set NATS_URL to a server with JetStream that runs elsewhere: docker run -p 4222:4222 nats -js',
    ].join('\n  '),
  )
}

/** Whether a version such as `2.10.27` is at least `[major, minor]`. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ours = 0, oursMinor = 0] = version.split('.').map(Number)
  return ours > major || (ours === major && oursMinor >= minor)
}

async function usable(files: readonly string[]): Promise<NatsBinary[]> {
  const found: NatsBinary[] = []
  for (const file of files) {
    const version = existsSync(file) ? await versionOf(file) : undefined
    if (version !== undefined && isAtLeast(version, VERSION_MIN)) found.push({ file, version })
  }
  return found
}

async function versionOf(file: string): Promise<string | undefined> {
  const said = await ask(file, ['--version'], { timeoutMs: 5_000 })
  return said?.match(/v?(\d+\.\d+\.\d+)/)?.[1]
}

async function withApt(cache: string, say: Say): Promise<NatsBinary | undefined> {
  try {
    await fetchWithApt('nats-server', '/usr/sbin/nats-server', cache)
  } catch (error) {
    say(`apt could not fetch it: ${lineOf(error)}`)
    return undefined
  }
  const [binary] = await usable([join(cache, 'nats-server')])
  if (binary !== undefined) say(`Fetched nats-server ${binary.version} with apt into ${cache}`)
  return binary
}

async function withGo(cache: string, say: Say): Promise<NatsBinary | undefined> {
  const go =
    (await ask('go', ['env', 'GOROOT'])) ?? (await ask('/usr/local/go/bin/go', ['env', 'GOROOT']))
  if (go === undefined) return undefined
  say(`Building ${GO_MODULE} with Go, which takes about a minute`)
  try {
    const script = 'GOBIN="$0" exec "$1" install "$2"'
    const args = ['-c', script, cache, join(go.trim(), 'bin', 'go'), GO_MODULE]
    await run('sh', args, { timeoutMs: GO_TIMEOUT_MS })
  } catch (error) {
    say(`Go could not build it: ${lineOf(error)}`)
    return undefined
  }
  return (await usable([join(cache, 'nats-server')]))[0]
}

function lineOf(error: unknown): string {
  return String(error).split('\n').at(-1) ?? ''
}
