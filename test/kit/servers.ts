import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { commandOf, isAlive } from '../../standalone/processes/os-process.ts'
import { startNats } from '../../standalone/servers/nats.ts'
import { startPostgres } from '../../standalone/servers/postgres.ts'
import { end, type Server } from '../../standalone/servers/server.ts'
import { unmountBelow } from './small-disk.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    natsUrl: string
  }
}

/** A server that a test run owns; disposing of it stops it. */
interface Provided extends AsyncDisposable {
  url: string
}

const SCRATCH_PREFIX = 'postern-test-'
const DISK = tmpdir()

/**
 * Where servers of tests that ask nothing of a disk keep their files, if it has room: every world is a database of 700 files that come and
 * go, which took ext4 an eighth of all CPU of the suite.
 */
const MEMORY = '/dev/shm'
const MEMORY_MIN_BYTES = 6 * 1024 ** 3
export const IN_MEMORY = hasRoom(MEMORY) ? MEMORY : DISK

/** Where the nats-server that a test run fetched is kept for the next one. */
export const NATS_CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'postern',
  'bin',
)

const STOP_MS = 5_000
// The library's clean-up container comes from a registry; what we start, we stop.
const RYUK = 'TESTCONTAINERS_RYUK_DISABLED'

/**
 * PostgreSQL and NATS for the projects that need them: those of TEST_DATABASE_URL and TEST_NATS_URL, else containers
 * of TEST_POSTGRES_IMAGE and TEST_NATS_IMAGE, else the servers that `npm start` brings.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = new AsyncDisposableStack()
  try {
    await stopLeftovers()
    const directory = stack.adopt(makeScratch(IN_MEMORY), removeScratch)
    const { TEST_DATABASE_URL, TEST_NATS_URL, TEST_POSTGRES_IMAGE, TEST_NATS_IMAGE } = process.env
    const postgres = stack.use(
      (await external(TEST_DATABASE_URL)) ??
        (await postgresContainer(TEST_POSTGRES_IMAGE)) ??
        (await startTestPostgres(directory)),
    )
    const nats = stack.use(
      (await external(TEST_NATS_URL)) ??
        (await natsContainer(TEST_NATS_IMAGE)) ??
        (await startTestNats(directory)),
    )
    project.provide('postgresUrl', postgres.url)
    project.provide('natsUrl', nats.url)
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
  return async () => await stack.disposeAsync()
}

/**
 * PostgreSQL in `directory`, on the port it had there before: after a kill, the same call brings it back with what it
 * held. It does not flush to the disk.
 */
export async function startTestPostgres(directory: string): Promise<Server> {
  const log = join(directory, 'postgres.log')
  return await startPostgres({ directory: join(directory, 'postgres'), log, durable: false, print })
}

/** NATS with JetStream in `directory`, on the port and with the store it had there before. */
export async function startTestNats(directory: string): Promise<Server> {
  const { NATS_SERVER_BIN } = process.env
  return await startNats({
    directory: join(directory, 'nats'),
    log: join(directory, 'nats.log'),
    cache: NATS_CACHE,
    chosen: NATS_SERVER_BIN,
    env: process.env,
    print,
  })
}

/** A directory for the servers of one test; disposing of it removes it. Stop its servers before. */
export function scratch(home = DISK): Disposable & { path: string } {
  const path = makeScratch(home)
  return { path, [Symbol.dispose]: () => removeScratch(path) }
}

function hasRoom(home: string): boolean {
  if (!existsSync(home)) return false
  const { bavail, bsize } = statfsSync(home)
  return bavail * bsize >= MEMORY_MIN_BYTES
}

function makeScratch(home: string): string {
  const path = mkdtempSync(join(home, `${SCRATCH_PREFIX}${process.pid}-`))
  chmodSync(path, 0o711) // As root, PostgreSQL runs as a user of its own and must get through.
  return path
}

function removeScratch(path: string): void {
  rmSync(path, { recursive: true, force: true })
}

/** Ends the servers of earlier runs that were killed before they could. */
async function stopLeftovers(): Promise<void> {
  const entries = [...new Set([DISK, IN_MEMORY])].flatMap((home) =>
    readdirSync(home).map((name) => ({ name, path: join(home, name) })),
  )
  for (const { name, path } of entries.filter((entry) => entry.name.startsWith(SCRATCH_PREFIX))) {
    const owner = Number(name.slice(SCRATCH_PREFIX.length).split('-')[0])
    if (isAlive(owner)) continue
    for (const file of ['postgres/data/postmaster.pid', 'nats/nats.pid']) {
      await endIfIn(path, join(path, file))
    }
    unmountBelow(path)
    removeScratch(path)
  }
}

async function endIfIn(directory: string, pidFile: string): Promise<void> {
  if (!existsSync(pidFile)) return
  const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  if (commandOf(pid).includes(directory)) await end(pid, ['SIGTERM', 'SIGINT', 'SIGKILL'], STOP_MS)
}

async function external(url: string | undefined): Promise<Provided | undefined> {
  return url === undefined || url === ''
    ? undefined
    : { url, [Symbol.asyncDispose]: async () => {} }
}

async function postgresContainer(image: string | undefined): Promise<Provided | undefined> {
  if (image === undefined || image === '') return undefined
  process.env[RYUK] ??= 'true'
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql')
  const container = await new PostgreSqlContainer(image)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=200'])
    .start()
    .catch(saidInstead('PostgreSQL'))
  return container && provided(container.getConnectionUri(), () => container.stop())
}

async function natsContainer(image: string | undefined): Promise<Provided | undefined> {
  if (image === undefined || image === '') return undefined
  process.env[RYUK] ??= 'true'
  const { NatsContainer } = await import('@testcontainers/nats')
  const container = await new NatsContainer(image)
    .withJetStream()
    .start()
    .catch(saidInstead('NATS'))
  if (container === undefined) return undefined
  const { servers, user, pass } = container.getConnectionOptions()
  const [host] = [servers ?? []].flat()
  return provided(`nats://${user}:${pass}@${host}`, () => container.stop())
}

function provided(url: string, stop: () => Promise<unknown>): Provided {
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

/** Without a working Docker engine the servers of `npm start` serve as well. */
function saidInstead(name: string): (error: unknown) => undefined {
  return (error) => {
    const [reason] = String(error).split('\n')
    process.stderr.write(`No container for ${name} (${reason}): starting it without Docker\n`)
    return undefined
  }
}

/** Ignores the messages of the managers; a failure is thrown and shown anyway. */
function print(): void {}
