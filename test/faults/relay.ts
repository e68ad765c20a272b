import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import pg from 'pg'
import { z } from 'zod'

import { lastLines, withLog } from '../../standalone/processes/log-file.ts'
import {
  commandOf,
  isAlive,
  isGone,
  signal,
  waitFor,
} from '../../standalone/processes/os-process.ts'
import { freePorts } from '../../standalone/processes/ports.ts'
import { childrenOf } from '../kit/children.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 90_000
const STOP_MS = 20_000
const LINES_SHOWN = 15

const Told = z.object({
  apiUrl: z.url(),
  ingestUrl: z.url(),
  gatewayUrl: z.url(),
  smtpPort: z.int().default(0),
  apiKey: z.string(),
  databaseUrl: z.url(),
  natsUrl: z.url(),
  pid: z.number(),
})

const ROLES = ['ingest', 'worker', 'housekeeper', 'api', 'gateway'] as const
const SERVERS = ['postgres', 'nats'] as const
/** An agent of a connector is no part of the installation. */
export const PARTS = [...ROLES, ...SERVERS, 'agent'] as const

type RoleName = (typeof ROLES)[number]
type ServerName = (typeof SERVERS)[number]
export type Part = (typeof PARTS)[number]

/** An installation started with `node standalone/main.ts` on ports of its own; its processes may be killed. */
export interface Relay extends AsyncDisposable {
  dataDir: string
  apiUrl: string
  gatewayUrl: string
  /** 0 without a setting `SMTP_PORT`. */
  smtpPort: number
  databaseUrl: string
  natsUrl: string
  /** The pid of the process that runs now. Throws while there is none. */
  role(name: RoleName): number
  server(name: ServerName): number
  /** Parsed JSON of a 2xx. Throws on any other answer. */
  api(method: string, path: string, body?: unknown): Promise<unknown>
  query(sql: string, values: readonly unknown[]): Promise<unknown[]>
  supervisor(): number
  /** A second worker beside the supervisor's: they share the partitions. */
  startSecondWorker(): AsyncDisposable
  /** A second gateway at this port. */
  startSecondGateway(port: number): Killable
  /** A further ingest of this name, to which nothing is sent: it drains the spool. */
  startDrainer(name: string, env: Record<string, string>): Killable
  /** Starts the supervisor again on the same data and ports, after it was killed. */
  startAgain(): Promise<void>
}

interface Killable extends AsyncDisposable {
  /** As kill -9 does. Resolves when it is gone. */
  kill(): Promise<void>
}

export function isRole(part: Part): part is RoleName {
  return ROLES.some((role) => role === part)
}

/**
 * `env` is added to the settings: DATABASE_URL and NATS_URL replace the embedded servers, DATA_DIR the directory that is
 * made and removed.
 */
export async function startRelay(env: Record<string, string> = {}): Promise<Relay> {
  await using stack = new AsyncDisposableStack()
  const dataDir = env['DATA_DIR'] ?? stack.use(scratch()).path
  const [apiPort, ingestPort, gatewayPort] = await freePorts(3)
  const ports = {
    API_PORT: String(apiPort),
    INGEST_PORT: String(ingestPort),
    GATEWAY_PORT: String(gatewayPort),
  }
  const settings = { ...SURROUNDINGS, DATA_DIR: dataDir, ...ports, ...env }
  const log = join(stack.use(scratch()).path, 'output.log')
  const launch = () => launchStandalone(settings, log)
  let child = launch()
  // The embedded servers of a killed supervisor run on: only a start takes them over and ends them.
  stack.defer(async () => {
    if (!isAlive(child.pid ?? 0)) child = launch()
    await ready(dataDir, child, log)
    await stop(child)
  })
  const told = await ready(dataDir, child, log)
  const pool = new pg.Pool({ connectionString: told.databaseUrl, max: 2 })
  pool.on('error', () => {}) // The server behind it is killed on purpose.
  stack.defer(async () => await pool.end())
  const owned = stack.move()
  return {
    dataDir,
    apiUrl: told.apiUrl,
    gatewayUrl: told.gatewayUrl,
    smtpPort: told.smtpPort,
    databaseUrl: told.databaseUrl,
    natsUrl: told.natsUrl,
    role: (name) => roleOf(child.pid ?? 0, name),
    server: (name) => serverOf(dataDir, name),
    api: async (method, path, body) => await call(told, method, path, body),
    query: async (sql, values) => (await pool.query<object>(sql, [...values])).rows,
    supervisor: () => child.pid ?? 0,
    startSecondWorker: () => {
      const worker = startBeside('worker', dataDir, told)
      return { [Symbol.asyncDispose]: async () => await stop(worker) }
    },
    startSecondGateway: (port) => {
      return killable(startBeside('gateway', dataDir, told, { GATEWAY_PORT: String(port) }))
    },
    startDrainer: (name, spoolEnv) => {
      const own = { INSTANCE_NAME: name, INGEST_PORT: '0', INGEST_URL: told.ingestUrl }
      return killable(startBeside('ingest', dataDir, told, { ...spoolEnv, ...own }))
    },
    startAgain: async () => {
      child = launch()
      await ready(dataDir, child, log)
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

function launchStandalone(env: Record<string, string>, log: string): ChildProcess {
  return withLog(log, (descriptor) =>
    spawn(process.execPath, ['standalone/main.ts'], {
      cwd: ROOT,
      env,
      stdio: ['ignore', descriptor, descriptor],
    }),
  )
}

/** Reads standalone.json once this very start is ready. Throws with the end of its output if it does not get ready. */
async function ready(
  dataDir: string,
  child: ChildProcess,
  log: string,
): Promise<z.infer<typeof Told>> {
  const file = join(dataDir, 'standalone.json')
  const read = () =>
    existsSync(file) ? Told.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
  const pid = child.pid ?? 0
  await waitFor(() => read()?.pid === pid || !isAlive(pid), START_MS)
  const told = read()
  if (told?.pid === pid) return told
  throw new Error(`The relay in ${dataDir} does not start:\n${lastLines(log, LINES_SHOWN)}`)
}

/** A process of a role beside those that the supervisor knows. */
function startBeside(
  role: RoleName,
  dataDir: string,
  { databaseUrl, natsUrl }: z.infer<typeof Told>,
  env: Record<string, string> = {},
): ChildProcess {
  return spawn(process.execPath, [`dataplane/${role}/main.ts`], {
    cwd: ROOT,
    env: {
      PATH: SURROUNDINGS.PATH,
      DATABASE_URL: databaseUrl,
      NATS_URL: natsUrl,
      POSTERN_ENCRYPTION_KEY_FILE: join(dataDir, 'encryption-key'),
      DELIVERY_ALLOW_CIDRS: '127.0.0.0/8',
      INSTANCE_NAME: 'stand-by',
      OPS_PORT: '0',
      ...env,
    },
    stdio: 'ignore',
  })
}

function killable(child: ChildProcess): Killable {
  const pid = child.pid ?? 0
  return {
    async kill() {
      signal(pid, 'SIGKILL')
      await isGone(pid, STOP_MS)
    },
    [Symbol.asyncDispose]: async () => await stop(child),
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const pid = child.pid ?? 0
  if (signal(pid, 'SIGTERM') && !(await isGone(pid, STOP_MS))) {
    throw new Error(`The relay (pid ${pid}) does not stop`)
  }
}

function roleOf(supervisor: number, name: RoleName): number {
  const main = name === 'api' ? ' api/main.ts' : ` dataplane/${name}/main.ts`
  const [pid] = childrenOf(supervisor, main)
  if (pid === undefined) throw new Error(`No ${name} runs`)
  return pid
}

function serverOf(dataDir: string, name: ServerName): number {
  const file = name === 'postgres' ? 'postgres/data/postmaster.pid' : 'nats/nats.pid'
  const pid = Number.parseInt(readFileSync(join(dataDir, file), 'utf8'), 10)
  if (!commandOf(pid).includes(dataDir)) throw new Error(`No ${name} runs in ${dataDir}`)
  return pid
}

async function call(
  { apiUrl, apiKey }: z.infer<typeof Told>,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  const answer = await fetch(`${apiUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
