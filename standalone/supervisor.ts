import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { openClock } from '../core/clock.ts'
import { SETTING_NAMES, type Settings } from '../core/config.ts'
import { ownDatabase } from '../core/db/own-database.ts'
import { checkDatabase } from '../core/db/usable.ts'
import { connectNats } from '../core/jetstream/connect-nats.ts'
import { openLog } from '../core/log.ts'
import { natsFilesOf } from '../core/settings/nats-files.ts'
import { misspeltSettings } from '../core/settings/setting-names.ts'
import { TRACE_FILE_NAMES } from '../core/settings/trace-settings.ts'
import { usableWithin } from '../core/start-up.ts'
import { databaseHostsOf, databaseUrlsOf } from '../core/urls/database-urls.ts'
import { chooseAddresses, urlOn, type Addresses, type OpsAddresses } from './addresses.ts'
import { ensureDashboard } from './dashboard/build.ts'
import { makeDataDir } from './data-dir.ts'
import { ensureEncryptionKey } from './encryption-key.ts'
import { ensureTenant } from './first-start.ts'
import { writeJsonFile } from './processes/json-file.ts'
import { takeLock } from './processes/lock.ts'
import { COMPILE_CACHE } from './processes/node-settings.ts'
import type { Print } from './processes/os-process.ts'
import { runProgram } from './processes/program.ts'
import { startRole, type Role } from './role.ts'
import { keepServer } from './servers/keep-server.ts'
import { works } from './servers/nats-health.ts'
import { startNats } from './servers/nats.ts'
import { startPostgres } from './servers/postgres.ts'
import { openSetup } from './setup-link.ts'

/** Deliveries of one machine go to programs beside it; a cluster allows no private address unless told. */
const STANDALONE_ALLOW_CIDRS = '127.0.0.0/8,::1/128'
/** The domain of mail that programs of this machine send. */
const STANDALONE_MAIL_DOMAIN = 'localhost'
const MIGRATE = 'api/migrate/main.ts'
const ROLES = {
  api: 'api/main.ts',
  worker: 'dataplane/worker/main.ts',
  housekeeper: 'dataplane/housekeeper/main.ts',
  ingest: 'dataplane/ingest/main.ts',
  gateway: 'dataplane/gateway/main.ts',
} as const

/** Servers of others that start beside us have this long. */
const SERVICES_MS = 15_000
const SILENT = openLog('silent', 'standalone')

type RoleName = keyof typeof ROLES

/** The data directory and the role take the rest of a name's 100 characters. */
const INSTANCE_MAX = 75

type Environment = Record<string, string | undefined>

export interface StandaloneOptions {
  settings: Settings
  /** Further environment of the roles. */
  env: Environment
  print: Print
  /** Aborted when the operator wants it to end, also while it starts. */
  stop: AbortSignal
}

type MetricsUrls = Record<keyof typeof ROLES, string | null>

const NOWHERE: MetricsUrls = {
  api: null,
  ingest: null,
  worker: null,
  housekeeper: null,
  gateway: null,
}

/** The content of `<DATA_DIR>/standalone.json`, for other programs. (decisions: Running it) */
export interface Standalone {
  apiUrl: string
  ingestUrl: string
  gatewayUrl: string
  /** Where mail comes in; only where SMTP_PORT is set. */
  smtpPort?: number
  dashboardUrl: string
  /** Where the first owner makes their account; null once there is one. */
  setupUrl: string | null
  metricsUrls: MetricsUrls
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
  const { settings, print, stop } = options
  const dataDir = makeDataDir(settings.DATA_DIR)
  for (const line of misspeltSettings(options.env)) print(line)
  const lock = stack.use(takeLock(dataDir))
  const file = join(dataDir, 'standalone.json')
  rmSync(file, { force: true })
  const addresses = await chooseAddresses(settings, lock.wasStale)

  await checkServices(options)
  const built = ensureDashboard(options)
  const databaseUrl = settings.DATABASE_URL ?? (await embeddedPostgres(stack, dataDir, options))
  stop.throwIfAborted()
  const natsUrl = settings.NATS_URL ?? (await embeddedNats(stack, dataDir, options))
  stop.throwIfAborted()

  const env = environment(options, { dataDir, databaseUrl, natsUrl, addresses })
  await Promise.all([runProgram(MIGRATE, [], env), built])
  const database = settings.DATABASE_URL === undefined ? 'embedded' : nameOf(databaseUrl)
  const { organisationId, projectId, apiKey } = await ensureTenant({
    dataDir,
    database,
    env,
    print,
  })
  stop.throwIfAborted()

  const metricsUrls: MetricsUrls = { ...NOWHERE }
  const standalone: Standalone = {
    apiUrl: addresses.api.url,
    ingestUrl: addresses.ingest.url,
    gatewayUrl: addresses.gateway.url,
    ...(addresses.smtp !== undefined && { smtpPort: addresses.smtp }),
    dashboardUrl: addresses.api.url,
    setupUrl: null,
    metricsUrls,
    organisationId,
    projectId,
    apiKey,
    databaseUrl,
    natsUrl,
    pid: process.pid,
  }
  let isReady = false
  const onPort = (name: RoleName, port: number): void => {
    const url = `${urlOn(addresses.ops.host, port)}/metrics`
    if (metricsUrls[name] === url) return
    metricsUrls[name] = url
    if (isReady) writeJsonFile(file, standalone)
  }
  await startRoles(stack, { dataDir, env, options, ops: addresses.ops, onPort })
  const clock = openClock(settings.TEST_CLOCK_FILE)
  standalone.setupUrl = await openSetup(stack, { databaseUrl, clock, addresses }, () => {
    standalone.setupUrl = null
    if (isReady) writeJsonFile(file, standalone)
  })
  writeJsonFile(file, standalone)
  isReady = true
  stack.defer(() => {
    isReady = false
    rmSync(file, { force: true })
  })
  return standalone
}

/** The servers that others run. Throws when one cannot be used, in a line that says why. */
async function checkServices({ settings, print, stop }: StandaloneOptions): Promise<void> {
  const { DATABASE_URL, NATS_URL } = settings
  const say = (reason: string): void => print(`Waiting: ${reason}`)
  const patience = { withinMs: SERVICES_MS, stop, say }
  if (DATABASE_URL !== undefined) {
    await usableWithin(() => checkDatabase(DATABASE_URL, false), patience)
  }
  if (NATS_URL !== undefined) {
    const files = natsFilesOf(settings)
    const connect = () => connectNats(NATS_URL, 'standalone', SILENT, files)
    const nats = await usableWithin(connect, patience)
    await nats.close()
  }
}

async function embeddedPostgres(
  stack: AsyncDisposableStack,
  dataDir: string,
  { print, stop }: StandaloneOptions,
): Promise<string> {
  const log = join(dataDir, 'logs', 'postgres.log')
  const directory = join(dataDir, 'postgres')
  const start = (signal: AbortSignal) =>
    startPostgres({ directory, log, durable: true, print, stop: signal })
  const { url } = stack.use(await keepServer({ name: 'PostgreSQL', log, start, print, stop }))
  return await ownDatabase(url)
}

async function embeddedNats(
  stack: AsyncDisposableStack,
  dataDir: string,
  { settings, env, print, stop }: StandaloneOptions,
): Promise<string> {
  const log = join(dataDir, 'logs', 'nats.log')
  const start = (signal: AbortSignal) =>
    startNats({
      directory: join(dataDir, 'nats'),
      cache: join(dataDir, 'bin'),
      chosen: settings.NATS_SERVER_BIN,
      env,
      log,
      print,
      stop: signal,
    })
  return stack.use(await keepServer({ name: 'NATS', log, start, works, print, stop })).url
}

interface Surroundings {
  dataDir: string
  databaseUrl: string
  natsUrl: string
  addresses: Addresses
}

/** The environment that configures the roles: the operator's, with what we found and started in its place. */
function environment(
  { settings, env, print }: StandaloneOptions,
  { dataDir, databaseUrl, natsUrl, addresses }: Surroundings,
): Environment {
  const set: Environment = {
    DATABASE_URL: databaseUrl,
    NATS_URL: natsUrl,
    DATA_DIR: dataDir,
    HOST: settings.HOST,
    OPS_HOST: addresses.ops.host,
    API_PORT: String(addresses.api.port),
    API_URL: addresses.api.url,
    INGEST_PORT: String(addresses.ingest.port),
    INGEST_URL: addresses.ingest.url,
    INGEST_SERVICE_URL: urlOn(settings.HOST, addresses.ingest.port),
    GATEWAY_PORT: String(addresses.gateway.port),
    GATEWAY_URL: addresses.gateway.url,
  }
  if (addresses.smtp !== undefined) {
    set['SMTP_PORT'] = String(addresses.smtp)
    set['SMTP_DOMAIN'] = settings.SMTP_DOMAIN ?? STANDALONE_MAIL_DOMAIN
  }
  if (settings.DELIVERY_ALLOW_CIDRS === undefined) {
    print(`Deliveries may reach ${STANDALONE_ALLOW_CIDRS}: set DELIVERY_ALLOW_CIDRS to change it`)
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
  return {
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...env,
    ...absolutePaths(env),
    ...Object.fromEntries(hidden),
    ...set,
  }
}

/** The files that settings name, for roles that run in another directory. */
function absolutePaths(env: Environment): Environment {
  const named = SETTING_NAMES.map((name) => `${name}_FILE`)
  const files = SETTING_NAMES.filter((name) => name.endsWith('_FILE'))
  const names = [...named, ...files, 'NATS_SERVER_BIN', ...TRACE_FILE_NAMES]
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = env[name]?.trim()
      return path === undefined || path === '' ? [] : [[name, resolve(path)]]
    }),
  )
}

interface RoleSurroundings {
  dataDir: string
  env: Environment
  options: StandaloneOptions
  ops: OpsAddresses
  onPort: (name: RoleName, port: number) => void
}

async function startRoles(
  stack: AsyncDisposableStack,
  { dataDir, env, options: { settings, print, stop }, ops, onPort }: RoleSurroundings,
): Promise<void> {
  const instance = `${settings.INSTANCE_NAME.slice(0, INSTANCE_MAX)}-${shortHash(dataDir)}`
  const roles: Role[] = []
  // They end side by side: each may have requests of its own to finish, and together they have a few seconds.
  stack.defer(async () => {
    await Promise.all(roles.toReversed().map((role) => role[Symbol.asyncDispose]()))
  })
  for (const [name, main] of roleEntries()) {
    const own = { ...env, INSTANCE_NAME: `${instance}-${name}` }
    const log = join(dataDir, 'logs', `${name}.log`)
    const opsPort = ops.ports[name]
    const told = (port: number): void => onPort(name, port)
    roles.push(
      startRole({ name, main, env: own, log, host: ops.host, opsPort, print, stop, onPort: told }),
    )
  }
  await Promise.all(roles.map((role) => role.ready()))
}

function roleEntries(): [RoleName, string][] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its keys are those of the constant
  return Object.entries(ROLES) as [RoleName, string][]
}

/** Names a database without its credentials. */
function nameOf(url: string): string {
  const hosts = databaseHostsOf(url)
  const { pathname } = new URL(databaseUrlsOf(url)[0] ?? url)
  return `${hosts.join(',')}${pathname}`
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}
