import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { isAlive, isGone, run, signal } from '../../standalone/processes/os-process.ts'
import { cleanRun } from '../../standalone/servers/postgres-data.ts'
import {
  makeOwned,
  postgresUser,
  type PostgresUser,
} from '../../standalone/servers/postgres-user.ts'
import { spawnServer } from '../../standalone/servers/server.ts'
import { DEBIAN_BIN } from '../faults/backups.ts'
import { until } from '../faults/until.ts'
import { childrenOf } from '../kit/children.ts'

const HOST = '127.0.0.1'
const USER = 'postgres'
const ANSWER_MS = 5_000
const READY_MS = 30_000
const GONE_MS = 10_000
const QUIET = (): void => {}

/** Commits wait for a standby and for no disk: nothing here loses power. */
const SETTINGS = {
  listen_addresses: HOST,
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  wal_keep_size: '1GB',
  wal_retrieve_retry_interval: '200ms',
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  log_min_error_statement: 'panic',
}

/** A PostgreSQL of a set. Others may stream from it, and it from another. */
export class PostgresNode {
  readonly name: string
  readonly port: number
  readonly #place: string
  readonly #settings: Record<string, string>
  #user: PostgresUser | undefined
  #pid = 0

  /** `synchronous` is the value of `synchronous_standby_names`. */
  constructor(name: string, port: number, options: { directory: string; synchronous: string }) {
    this.name = name
    this.port = port
    this.#place = join(options.directory, name)
    this.#settings = {
      ...SETTINGS,
      port: String(port),
      cluster_name: name,
      synchronous_standby_names: options.synchronous,
    }
  }

  url(database: string): string {
    return `postgres://${USER}@${HOST}:${this.port}/${database}`
  }

  get isAlive(): boolean {
    return isAlive(this.#pid)
  }

  /** An empty server that takes writes. */
  async initialise(): Promise<void> {
    await this.#makePlace()
    const flags = ['-D', this.#data, `--username=${USER}`, '--auth=trust', '--no-sync']
    await this.#run('initdb', [...flags, '--encoding=UTF8', '--locale=C.UTF-8'])
    this.#configure([])
    await this.start()
  }

  /** Starts it anew as a standby, with a copy of the other. */
  async copy(upstream: PostgresNode): Promise<void> {
    await this.kill()
    await this.#makePlace()
    const from = ['-h', HOST, '-p', String(upstream.port), '-U', USER]
    await this.#run('pg_basebackup', ['-D', this.#data, ...from, '-c', 'fast', '--no-sync'])
    writeFileSync(join(this.#data, 'standby.signal'), '')
    this.#configure([streamsFrom(upstream, this.name)])
    await this.start()
  }

  async start(): Promise<void> {
    const flags = Object.entries(this.#settings).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ])
    const child = await spawnServer({
      file: bin('postgres'),
      args: ['-D', this.#data, ...flags],
      log: join(this.#place, 'postgres.log'),
      options: cleanRun(this.#user),
    })
    this.#pid = child.pid ?? 0
    await until(
      `${this.name} answers`,
      async () => (await this.query('select 1')).length === 1,
      READY_MS,
    )
  }

  /** Every process of it stops where it is; its connections stay open. */
  freeze(): void {
    signal(this.#pid, 'SIGSTOP')
    for (const child of childrenOf(this.#pid)) signal(child, 'SIGSTOP')
  }

  wake(): void {
    for (const child of childrenOf(this.#pid)) signal(child, 'SIGCONT')
    signal(this.#pid, 'SIGCONT')
  }

  /** As when its machine goes: every process ends at once. */
  async kill(): Promise<void> {
    if (!this.isAlive) return
    const pids = [...childrenOf(this.#pid), this.#pid]
    for (const pid of pids) signal(pid, 'SIGKILL')
    for (const pid of pids) await isGone(pid, GONE_MS)
  }

  /** Takes no more writes and leaves its connections open. */
  refuseWrites(): void {
    this.#configure(['default_transaction_read_only = on'])
    this.#reload()
  }

  /** Streams from another from now on, or from nothing. */
  follow(upstream: PostgresNode | undefined): void {
    this.#configure([upstream === undefined ? '' : streamsFrom(upstream, this.name)])
    this.#reload()
  }

  /** Bytes of WAL that it has received. Waits until it streams from no other server. */
  async received(): Promise<number> {
    const streams = async (): Promise<boolean> =>
      (await this.query('select from pg_stat_wal_receiver')).length === 0
    await until(`${this.name} streams no more`, streams, ANSWER_MS)
    const [row] = await this.query(`select (pg_last_wal_receive_lsn() - '0/0')::float8 as received`)
    return Number(row?.['received'])
  }

  /** Resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 20)')
    this.#configure([])
  }

  /** Rows of a statement on a connection of its own. */
  async query(
    sql: string,
    { values = [], database = USER }: { values?: readonly unknown[]; database?: string } = {},
  ): Promise<Record<string, unknown>[]> {
    const timeouts = { connectionTimeoutMillis: ANSWER_MS, query_timeout: READY_MS }
    const client = new pg.Client({ connectionString: this.url(database), ...timeouts })
    client.on('error', QUIET) // The statement reports it.
    try {
      await client.connect()
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows
    } finally {
      client.end().catch(QUIET)
    }
  }

  get #data(): string {
    return join(this.#place, 'data')
  }

  async #makePlace(): Promise<void> {
    this.#user ??= await postgresUser('', QUIET)
    mkdirSync(this.#place, { recursive: true })
    rmSync(this.#data, { recursive: true, force: true })
    makeOwned(this.#data, this.#user)
  }

  /** All of `postgresql.auto.conf`, which no statement changes here. */
  #configure(lines: readonly string[]): void {
    const file = join(this.#data, 'postgresql.auto.conf')
    writeFileSync(file, `${lines.join('\n')}\n`)
    if (this.#user !== undefined) chownSync(file, this.#user.uid, this.#user.gid)
  }

  #reload(): void {
    signal(this.#pid, 'SIGHUP')
  }

  async #run(program: string, flags: readonly string[]): Promise<void> {
    await run(bin(program), flags, cleanRun(this.#user))
  }
}

function bin(program: string): string {
  return join(DEBIAN_BIN ?? '', program)
}

function streamsFrom(upstream: PostgresNode, name: string): string {
  const words = `host=${HOST} port=${upstream.port} user=${USER} application_name=${name}`
  return `primary_conninfo = '${words}'`
}
