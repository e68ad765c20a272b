import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { answersOk } from '../../standalone/processes/answers-ok.ts'
import { signal } from '../../standalone/processes/os-process.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { startRole, type Role } from '../../standalone/role.ts'

const HOST = '127.0.0.1'
const MAIN = {
  ingest: 'dataplane/ingest/main.ts',
  worker: 'dataplane/worker/main.ts',
  housekeeper: 'dataplane/housekeeper/main.ts',
  gateway: 'dataplane/gateway/main.ts',
  api: 'api/main.ts',
} as const

export type RoleName = keyof typeof MAIN
export const ROLES: readonly RoleName[] = ['ingest', 'worker', 'housekeeper', 'gateway', 'api']

/** The setting of the port that clients of a role connect to. */
const PORT: Partial<Record<RoleName, string>> = {
  ingest: 'INGEST_PORT',
  gateway: 'GATEWAY_PORT',
  api: 'API_PORT',
}

export interface RoleProcessOptions {
  role: RoleName
  /** The copy of the repository that it runs: this one unless named. */
  root?: string
  /** Its INSTANCE_NAME. */
  name: string
  log: string
  env: Record<string, string>
}

/** A process of a role, which is started again when it ends. */
export class RoleProcess implements AsyncDisposable {
  readonly role: RoleName
  readonly name: string
  /** That clients connect to. */
  readonly port: number
  readonly #log: string
  readonly #running: Role
  #opsPort: number
  #deaths = 0

  static async start(options: RoleProcessOptions): Promise<RoleProcess> {
    return new RoleProcess(options, await freePort(), await freePort())
  }

  private constructor(
    { role, root = '', name, log, env }: RoleProcessOptions,
    port: number,
    ops: number,
  ) {
    this.role = role
    this.name = name
    this.port = port
    this.#log = log
    this.#opsPort = ops
    const setting = PORT[role]
    this.#running = startRole({
      name: role,
      main: join(root, MAIN[role]),
      env: {
        ...env,
        INSTANCE_NAME: name,
        ...(setting !== undefined && { [setting]: String(port) }),
      },
      log,
      host: HOST,
      opsPort: ops,
      print: () => this.#deaths++,
      onPort: (opsPort) => (this.#opsPort = opsPort),
      stop: new AbortController().signal,
    })
  }

  async ready(): Promise<void> {
    await this.#running.ready()
  }

  async isReady(): Promise<boolean> {
    return await answersOk(`http://${HOST}:${this.#opsPort}/readyz`)
  }

  /** How often it ended by itself. */
  get deaths(): number {
    return this.#deaths
  }

  /** The lines of its log, and of the processes before it, that say so. */
  logged(message: string): number {
    return readFileSync(this.#log, 'utf8')
      .split('\n')
      .filter((line) => line.includes(message)).length
  }

  /** As when its machine goes: it is not started again. */
  async kill(): Promise<void> {
    signal(this.#running.pid() ?? 0, 'SIGKILL')
    await this.#running[Symbol.asyncDispose]()
  }

  /** Ends as it does when asked to. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]()
  }
}
