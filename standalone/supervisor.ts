import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { SETTING_NAMES, type Settings } from '../core/config.ts'
import { chooseAddresses, type Address } from './addresses.ts'
import { ensureEncryptionKey } from './encryption-key.ts'
import { ensureTenant } from './first-start.ts'
import { keepServer } from './keep-server.ts'
import { writeKept } from './kept.ts'
import { takeLock } from './lock.ts'
import { works } from './nats-works.ts'
import { startNats } from './nats.ts'
import { COMPILE_CACHE } from './node-settings.ts'
import type { Say } from './os-process.ts'
import { startPostgres } from './postgres.ts'
import { runProgram } from './program.ts'
import { startRole, type Role } from './role.ts'

/** Deliveries of one machine go to programs beside it; a cluster allows no private address unless told. */
const STANDALONE_ALLOW_CIDRS = '127.0.0.0/8,::1/128'
const MIGRATE = 'api/migrate/main.ts'
const ROLES = {
  api: 'api/main.ts',
  worker: 'dataplane/worker/main.ts',
  housekeeper: 'dataplane/housekeeper/main.ts',
  ingest: 'dataplane/ingest/main.ts',
} as const

type Environment = Record<string, string | undefined>

export interface StandaloneOptions {
  settings: Settings
  /** What the roles get besides what we set. */
  env: Environment
  say: Say
  /** Aborted when the operator wants it to end, also while it starts. */
  stop: AbortSignal
}

/** What `<DATA_DIR>/standalone.json` tells programs beside us. (decisions: Running it) */
export interface Standalone {
  apiUrl: string
  ingestUrl: string
  gatewayUrl: null
  organisationId: string
  projectId: string
  apiKey: string
  databaseUrl: string
  natsUrl: string
  pid: number
}

/**
 * Starts the relay with everything it needs; what was started goes onto `stack`, which stops it in reverse. Every step
 * needs the ones before it.
 */
export async function startStandalone(
  stack: AsyncDisposableStack,
  options: StandaloneOptions,
): Promise<Standalone> {
  const { settings, say, stop } = options
  const dataDir = makeDataDir(settings.DATA_DIR)
  const lock = stack.use(takeLock(dataDir))
  const file = join(dataDir, 'standalone.json')
  rmSync(file, { force: true })
  const addresses = await chooseAddresses(settings, lock.wasStale)

  const databaseUrl = settings.DATABASE_URL ?? (await embeddedPostgres(stack, dataDir, options))
  stop.throwIfAborted()
  const natsUrl = settings.NATS_URL ?? (await embeddedNats(stack, dataDir, options))
  stop.throwIfAborted()

  const env = environment(options, { dataDir, databaseUrl, natsUrl, addresses })
  await runProgram(MIGRATE, [], env)
  const database = settings.DATABASE_URL === undefined ? 'embedded' : nameOf(databaseUrl)
  const { organisationId, projectId, apiKey } = await ensureTenant({ dataDir, database, env, say })
  stop.throwIfAborted()

  await startRoles(stack, { dataDir, env, options })
  const standalone: Standalone = {
    apiUrl: addresses.api.url,
    ingestUrl: addresses.ingest.url,
    gatewayUrl: null,
    organisationId,
    projectId,
    apiKey,
    databaseUrl,
    natsUrl,
    pid: process.pid,
  }
  writeKept(file, standalone)
  stack.defer(() => rmSync(file, { force: true }))
  return standalone
}

/** As root it lets others pass: PostgreSQL, run by a user of its own, keeps its data below it. */
function makeDataDir(path: string): string {
  mkdirSync(join(path, 'logs'), { recursive: true, mode: 0o700 })
  const dataDir = realpathSync(resolve(path))
  chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
  return dataDir
}

async function embeddedPostgres(
  stack: AsyncDisposableStack,
  dataDir: string,
  { say, stop }: StandaloneOptions,
): Promise<string> {
  const log = join(dataDir, 'logs', 'postgres.log')
  const directory = join(dataDir, 'postgres')
  const start = (signal: AbortSignal) =>
    startPostgres({ directory, log, durable: true, say, stop: signal })
  return stack.use(await keepServer({ name: 'PostgreSQL', log, start, say, stop })).url
}

async function embeddedNats(
  stack: AsyncDisposableStack,
  dataDir: string,
  { settings, env, say, stop }: StandaloneOptions,
): Promise<string> {
  const log = join(dataDir, 'logs', 'nats.log')
  const start = (signal: AbortSignal) =>
    startNats({
      directory: join(dataDir, 'nats'),
      cache: join(dataDir, 'bin'),
      chosen: settings.NATS_SERVER_BIN,
      path: env['PATH'] ?? '',
      log,
      say,
      stop: signal,
    })
  return stack.use(await keepServer({ name: 'NATS', log, start, works, say, stop })).url
}

interface Surroundings {
  dataDir: string
  databaseUrl: string
  natsUrl: string
  addresses: { api: Address; ingest: Address }
}

/** The environment that configures the roles: the operator's, with what we found and started in its place. */
function environment(
  { settings, env, say }: StandaloneOptions,
  { dataDir, databaseUrl, natsUrl, addresses }: Surroundings,
): Environment {
  const set: Environment = {
    DATABASE_URL: databaseUrl,
    NATS_URL: natsUrl,
    DATA_DIR: dataDir,
    API_PORT: String(addresses.api.port),
    API_URL: addresses.api.url,
    INGEST_PORT: String(addresses.ingest.port),
    INGEST_URL: addresses.ingest.url,
  }
  if (settings.DELIVERY_ALLOW_CIDRS === undefined) {
    say(`Deliveries may reach ${STANDALONE_ALLOW_CIDRS}: set DELIVERY_ALLOW_CIDRS to change it`)
    set['DELIVERY_ALLOW_CIDRS'] = STANDALONE_ALLOW_CIDRS
  }
  if (settings.POSTERN_ENCRYPTION_KEY === undefined) {
    set['POSTERN_ENCRYPTION_KEY_FILE'] = ensureEncryptionKey(dataDir)
  }
  // A NAME_FILE of the operator wins over a NAME in the roles, so it must not stay beside the one we set.
  const hidden = SETTING_NAMES.filter((name) => name in set).map((name) => [
    `${name}_FILE`,
    undefined,
  ])
  return { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, ...Object.fromEntries(hidden), ...set }
}

interface RoleSurroundings {
  dataDir: string
  env: Environment
  options: StandaloneOptions
}

async function startRoles(
  stack: AsyncDisposableStack,
  { dataDir, env, options: { settings, say, stop } }: RoleSurroundings,
): Promise<void> {
  const instance = `${settings.INSTANCE_NAME}-${shortHash(dataDir)}`
  const roles: Role[] = []
  // They end side by side: each may have requests of its own to finish, and together they have a few seconds.
  stack.defer(async () => {
    await Promise.all(roles.toReversed().map((role) => role[Symbol.asyncDispose]()))
  })
  for (const [name, main] of Object.entries(ROLES)) {
    const own = { ...env, INSTANCE_NAME: `${instance}-${name}` }
    const log = join(dataDir, 'logs', `${name}.log`)
    roles.push(startRole({ name, main, env: own, log, say, stop }))
  }
  await Promise.all(roles.map((role) => role.ready()))
}

/** What names a database without its credentials. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
