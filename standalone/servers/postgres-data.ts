import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { readJsonFile, writeJsonFile } from '../processes/json-file.ts'
import { run, type Print } from '../processes/os-process.ts'
import { freePort, isFree } from '../processes/ports.ts'
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts'
import {
  ensureShared,
  makeOwned,
  mayUse,
  postgresUser,
  type PostgresUser,
} from './postgres-user.ts'

const DATABASE = 'postern'
const Kept = z.object({ data: z.string(), port: z.number(), password: z.string() })

/** Everything needed to run the server of one data directory. */
export interface Cluster extends z.infer<typeof Kept> {
  binaries: PostgresBinaries
  user: PostgresUser | undefined
  url: string
}

export interface ClusterOptions {
  /** Keeps the port and the password and, where the server's user can reach it, the data. */
  directory: string
  /** False only for tests: no write is ever flushed to the disk. */
  durable: boolean
  print: Print
}

/** The locale that sorts by code point everywhere. PostgreSQL 17 brought it built in; before, the C library gives it. */
function localeFlags(major: number): string[] {
  return major >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C.UTF-8']
}

/** The cluster kept in `directory`, made at the first start. Its port is the kept one, also when something else took it. */
export async function ensureCluster({
  directory,
  durable,
  print,
}: ClusterOptions): Promise<Cluster> {
  mkdirSync(directory, { recursive: true })
  if (process.getuid?.() === 0) chmodSync(directory, 0o711)
  const file = join(directory, 'server.json')
  const kept = readJsonFile(file, Kept)
  const user = await postgresUser(kept?.data ?? '', print)
  const binaries = await findPostgresBinaries(user, majorOf(kept?.data), print)
  const { data, port, password } = kept ?? {
    data: await dataDirectory(directory, user, print),
    port: await freePort(),
    password: randomBytes(24).toString('base64url'),
  }
  if (kept === undefined) writeJsonFile(file, { data, port, password })
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/${DATABASE}`
  const cluster = { data, port, password, binaries, user, url }
  if (!existsSync(data)) await initialise(cluster, { directory, durable, print })
  return cluster
}

/** Where the data of the cluster kept in `directory` is; undefined before the first start. */
export function dataOf(directory: string): string | undefined {
  return readJsonFile(join(directory, 'server.json'), Kept)?.data
}

/** The cluster on another port, where a stranger listens on the kept one. */
export async function movedToFreePort(
  directory: string,
  cluster: Cluster,
  print: Print,
): Promise<Cluster> {
  if (await isFree(cluster.port, '127.0.0.1')) return cluster
  const port = await freePort()
  print(`Port ${cluster.port} is used by another program: PostgreSQL moves to ${port}`)
  const { data, password } = cluster
  writeJsonFile(join(directory, 'server.json'), { data, port, password })
  return { ...cluster, port, url: cluster.url.replace(`:${cluster.port}/`, `:${port}/`) }
}

/** An environment without PG* and LC_* variables, which would change what the server does. */
export function cleanRun(user: PostgresUser | undefined): {
  cwd: string
  env: Record<string, string>
  uid?: number
  gid?: number
} {
  return {
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    ...user,
  }
}

function majorOf(data: string | undefined): number | undefined {
  const file = join(data ?? '', 'PG_VERSION')
  return data === undefined || !existsSync(file) ? undefined : Number(readFileSync(file, 'utf8'))
}

async function dataDirectory(
  directory: string,
  user: PostgresUser | undefined,
  print: Print,
): Promise<string> {
  if (await mayUse(user, directory, 'x')) return join(directory, 'data')
  const elsewhere = join(ensureShared(), `data-${randomBytes(6).toString('hex')}`)
  print(`The user of PostgreSQL may not enter ${directory}: its data goes to ${elsewhere}`)
  return elsewhere
}

async function initialise(
  { data, password, binaries, user }: Cluster,
  { durable, print }: ClusterOptions,
): Promise<void> {
  print(`Making a PostgreSQL ${binaries.version} cluster in ${data}`)
  // An interrupted initdb leaves half a cluster: only a whole one gets the final name.
  const draft = `${data}.draft`
  const secret = `${data}.password`
  rmSync(draft, { recursive: true, force: true })
  if (user !== undefined) makeOwned(draft, user)
  writeFileSync(secret, password, { mode: 0o600 })
  if (user !== undefined) chownSync(secret, user.uid, user.gid)
  const options = cleanRun(user)
  const auth = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${secret}`]
  const locale = ['--encoding=UTF8', ...localeFlags(binaries.major)]
  try {
    const flags = ['-D', draft, ...auth, ...locale, ...(durable ? [] : ['--no-sync'])]
    await run(join(binaries.root, 'bin', 'initdb'), flags, options)
    await createDatabase(binaries.root, draft, options)
  } finally {
    rmSync(secret)
  }
  renameSync(draft, data)
}

/** Through a single-user server, which needs no port and no password. */
async function createDatabase(
  root: string,
  data: string,
  options: ReturnType<typeof cleanRun>,
): Promise<void> {
  const script = `echo 'create database ${DATABASE}' | "$0" --single -D "$1" postgres`
  await run('sh', ['-c', script, join(root, 'bin', 'postgres'), data], options)
}
