import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import pg from 'pg'

import { ensureTenant } from '../../standalone/first-start.ts'
import { freePorts } from '../../standalone/processes/ports.ts'
import { runProgram } from '../../standalone/processes/program.ts'
import { RoleProcess, ROLES, type RoleName } from '../failover/role-process.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { IN_MEMORY, scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'
import { openBalancer } from './balancer.ts'

const BALANCED: readonly RoleName[] = ['ingest', 'gateway', 'api']
const API_MS = 20_000

/** A process of each role, with balancers before those that clients connect to. */
export interface Fleet extends AsyncDisposable {
  apiUrl: string
  ingestUrl: string
  organisationId: string
  /** Runs the program of an operator of the installation, and returns what it prints. Throws when it fails. */
  admin(...words: string[]): Promise<string>
  /** Migrates by the program of this copy of the repository, and returns its lines. Throws when it fails. */
  migrate(root?: string): Promise<string>
  /**
   * As a rolling update does: starts a process of this copy of the repository beside the present one, waits until it is ready, takes the
   * present one from its balancer and ends it.
   */
  replace(role: RoleName, root?: string): Promise<void>
  /** Processes of all times that ended by themselves. */
  deaths(): number
  /** The processes that run now, by their copy of the repository. */
  roots(): readonly (string | undefined)[]
  api(method: string, path: string, body?: unknown): Promise<unknown>
  query(sql: string, values: readonly unknown[]): Promise<unknown[]>
}

interface Member {
  process: RoleProcess
  root: string | undefined
}

/** `delayMs` is how long bytes take between clients and processes, each way. */
export async function openFleet({ delayMs = 0 } = {}): Promise<Fleet> {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch(IN_MEMORY))
  const postgres = await startTestPostgres(path)
  stack.defer(async () => await postgres.stop())
  const nats = await startTestNats(path)
  stack.defer(async () => await nats.stop())
  const ports = await freePorts(BALANCED.length)
  const behind = new Map(BALANCED.map((role) => [role, new Array<number>()]))
  for (const [at, role] of BALANCED.entries()) {
    stack.use(await openBalancer(ports[at] ?? 0, behind.get(role) ?? [], delayMs))
  }
  const [ingest, gateway, api] = ports.map((port) => `127.0.0.1:${port}`)
  const settings = {
    ...SURROUNDINGS,
    DATABASE_URL: postgres.url,
    NATS_URL: nats.url,
    POSTERN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    INGEST_URL: `http://${ingest}`,
    GATEWAY_URL: `ws://${gateway}`,
    API_URL: `http://${api}`,
    DELIVERY_ALLOW_CIDRS: '127.0.0.0/8',
    API_REQUESTS_PER_MINUTE: '100000',
  }
  const migrate = async (root = ''): Promise<string> =>
    await runProgram(join(root, 'api/migrate/main.ts'), [], settings)
  await migrate()
  const tenant = { dataDir: path, database: 'fleet', env: settings, print: () => {} }
  const { apiKey, organisationId } = await ensureTenant(tenant)
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
  stack.defer(async () => await pool.end())

  const started: RoleProcess[] = []
  const running = new Map<RoleName, Member>()
  stack.defer(async () => {
    await Promise.all(
      [...running.values()].map(async ({ process }) => await process[Symbol.asyncDispose]()),
    )
  })
  const replace = async (role: RoleName, root?: string): Promise<void> => {
    const name = `${role}-${started.length}`
    const log = join(path, `${name}.log`)
    const tree = root === undefined ? {} : { root }
    const fresh = await RoleProcess.start({ role, name, log, env: settings, ...tree })
    const former = running.get(role)?.process
    started.push(fresh)
    running.set(role, { process: fresh, root })
    const listed = behind.get(role)
    try {
      await fresh.ready()
      listed?.push(fresh.port)
    } finally {
      if (former !== undefined) listed?.splice(0, listed.indexOf(former.port) + 1)
      await former?.[Symbol.asyncDispose]()
    }
  }
  await Promise.all(ROLES.map(async (role) => await replace(role)))
  const owned = stack.move()
  return {
    apiUrl: settings.API_URL,
    ingestUrl: settings.INGEST_URL,
    organisationId,
    admin: async (...words) => await runProgram('api/admin/main.ts', words, settings),
    migrate,
    replace,
    deaths: () => started.reduce((sum, one) => sum + one.deaths, 0),
    roots: () => [...running.values()].map(({ root }) => root),
    api: async (method, to, body) =>
      await call(`${settings.API_URL}${to}`, { method, apiKey, body }),
    query: async (sql, values) => (await pool.query<object>(sql, [...values])).rows,
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

async function call(
  url: string,
  { method, apiKey, body }: { method: string; apiKey: string; body: unknown },
): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(API_MS),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
