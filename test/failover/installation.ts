import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

import { ensureTenant } from '../../standalone/first-start.ts'
import { freePorts } from '../../standalone/processes/ports.ts'
import { runProgram } from '../../standalone/processes/program.ts'
import { openBalancer } from '../faults/balancer.ts'
import { until } from '../faults/until.ts'
import { openDatabaseLink, type DatabaseLink } from '../kit/database-link.ts'
import { startNatsCluster, type NatsCluster } from '../kit/nats-cluster.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { PostgresSet } from './postgres-set.ts'
import { RoleProcess, ROLES, type RoleName } from './role-process.ts'

const EACH = 2
/** How long a balancer sends nothing more to a process before that is asked to end. */
const LEAVES_MS = 5_000
const NATS_MS = 30_000
const BALANCED: readonly RoleName[] = ['ingest', 'gateway', 'api']

/** Two processes of each role behind balancers, three PostgreSQLs behind an address that moves, three NATS servers. */
export interface Installation extends AsyncDisposable {
  postgres: PostgresSet
  /** The address of PostgreSQL. */
  link: DatabaseLink
  nats: NatsCluster
  apiUrl: string
  processes(): readonly RoleProcess[]
  of(role: RoleName): readonly RoleProcess[]
  /** The name of the NATS server that leads a stream. */
  leaderOf(stream: string): Promise<string | undefined>
  /** Starts another process with these settings in the place of each, one after the other of a role. */
  replaceAll(env: Record<string, string>): Promise<void>
  killOneOfEach(): Promise<void>
  /** Starts processes in the place of those that were killed. */
  fill(): Promise<void>
  api(method: string, path: string, body?: unknown): Promise<unknown>
  /** A statement that runs on the primary. */
  query(sql: string, values?: readonly unknown[]): Promise<unknown[]>
}

export async function openInstallation(): Promise<Installation> {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch(IN_MEMORY))
  const postgres = stack.use(await PostgresSet.open(path))
  const link = stack.use(await openDatabaseLink(postgres.url))
  const nats = stack.use(await startNatsCluster(path))
  const manager = stack.use(await openManager(nats))
  const ports = await freePorts(BALANCED.length)
  const behind = new Map(BALANCED.map((role) => [role, new Array<number>()]))
  for (const [at, role] of BALANCED.entries()) {
    stack.use(await openBalancer(ports[at] ?? 0, behind.get(role) ?? []))
  }
  const settings = settingsOf(link, nats, ports)
  await runProgram('api/migrate/main.ts', [], settings)
  const tenant = { dataDir: path, database: 'failover', env: settings, print: () => {} }
  const { apiKey } = await ensureTenant(tenant)
  const fleet = stack.use(new Fleet({ directory: path, settings, behind }))
  await fleet.fill()
  const owned = stack.move()
  return {
    postgres,
    link,
    nats,
    apiUrl: settings.API_URL,
    processes: () => fleet.running,
    of: (role) => fleet.of(role),
    leaderOf: async (stream) => (await manager.streams.info(stream)).cluster?.leader,
    replaceAll: async (env) => await fleet.replaceAll(env),
    killOneOfEach: async () => await fleet.killOneOfEach(),
    fill: async () => await fleet.fill(),
    api: async (method, to, body) =>
      await call(`${settings.API_URL}${to}`, { method, apiKey, body }),
    query: async (sql, values) => await postgres.query(sql, values),
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

function settingsOf(link: DatabaseLink, nats: NatsCluster, ports: readonly number[]) {
  const [ingest, gateway, api] = ports.map((port) => `127.0.0.1:${port}`)
  return {
    ...SURROUNDINGS,
    DATABASE_URL: link.url,
    NATS_URL: nats.nodes.map(({ url }) => url).join(','),
    POSTERN_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    INGEST_URL: `http://${ingest}`,
    GATEWAY_URL: `ws://${gateway}`,
    API_URL: `http://${api}`,
    DELIVERY_ALLOW_CIDRS: '127.0.0.0/8',
    API_REQUESTS_PER_MINUTE: '100000',
  }
}

async function openManager(nats: NatsCluster): Promise<JetStreamManager & AsyncDisposable> {
  const servers = nats.nodes.map(({ url }) => url)
  const connection = await connect({ servers, maxReconnectAttempts: -1, waitOnFirstConnect: true })
  const manager = await jetstreamManager(connection, { checkAPI: false })
  await until('NATS works', async () => (await manager.getAccountInfo()).streams === 0, NATS_MS)
  return Object.assign(manager, { [Symbol.asyncDispose]: async () => await connection.close() })
}

interface FleetOptions {
  directory: string
  settings: Record<string, string>
  /** The ports that the balancer of a role knows. */
  behind: ReadonlyMap<RoleName, number[]>
}

/** The processes of all roles, as an orchestrator runs them. */
class Fleet implements AsyncDisposable {
  readonly #options: FleetOptions
  readonly #running: RoleProcess[] = []
  /** Settings of those that replaced the first. */
  #more: Record<string, string> = {}
  #started = 0

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get running(): readonly RoleProcess[] {
    return this.#running
  }

  of(role: RoleName): readonly RoleProcess[] {
    return this.#running.filter((one) => one.role === role)
  }

  /** Starts what is missing to two of each role. Resolves when all are ready. */
  async fill(): Promise<void> {
    for (const role of ROLES) {
      for (let count = this.of(role).length; count < EACH; count++) await this.#launch(role)
    }
    await Promise.all(this.#running.map(async (one) => await one.ready()))
  }

  async killOneOfEach(): Promise<void> {
    const killed = ROLES.flatMap((role) => this.of(role).slice(0, 1))
    for (const one of killed) this.#running.splice(this.#running.indexOf(one), 1)
    await Promise.all(killed.map(async (one) => await one.kill()))
    for (const one of killed) this.#leave(one)
  }

  async replaceAll(env: Record<string, string>): Promise<void> {
    this.#more = env
    await Promise.all(ROLES.map(async (role) => await this.#replace(role)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map(async (one) => await one[Symbol.asyncDispose]()))
  }

  async #replace(role: RoleName): Promise<void> {
    for (const former of this.of(role)) {
      await (await this.#launch(role)).ready()
      this.#running.splice(this.#running.indexOf(former), 1)
      if (this.#leave(former)) await sleep(LEAVES_MS)
      await former[Symbol.asyncDispose]()
    }
  }

  /** Takes it from its balancer. */
  #leave({ role, port }: RoleProcess): boolean {
    const listed = this.#options.behind.get(role)
    listed?.splice(listed.indexOf(port), 1)
    return listed !== undefined
  }

  async #launch(role: RoleName): Promise<RoleProcess> {
    const { directory, settings, behind } = this.#options
    const name = `${role}-${++this.#started}`
    const log = join(directory, `${name}.log`)
    const one = await RoleProcess.start({ role, name, log, env: { ...settings, ...this.#more } })
    this.#running.push(one)
    behind.get(role)?.push(one.port)
    return one
  }
}

async function call(
  url: string,
  { method, apiKey, body }: { method: string; apiKey: string; body: unknown },
): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
