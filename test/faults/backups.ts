import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { freePort } from '../../standalone/processes/ports.ts'
import { cleanRun, dataOf } from '../../standalone/servers/postgres-data.ts'
import { postgresUser } from '../../standalone/servers/postgres-user.ts'
import type { Server } from '../../standalone/servers/server.ts'
import { startTestPostgres } from '../kit/servers.ts'
import { until } from './until.ts'

const ARCHIVED_MS = 30_000
const DEBIAN = '/usr/lib/postgresql'
const PASSWORD = 'hunter2'

/** A backup that was made. */
interface Backup {
  /** On the monotonic clock: all that was answered before is in it. */
  coversMs: number
  /** Puts a server that holds it in the place of the one that is gone. */
  restore(): Promise<Server>
}

/** A way to back up the PostgreSQL of a directory. */
export interface BackupWay {
  /** Starts the server, ready to be backed up. */
  start(directory: string): Promise<Server>
  backUp(directory: string, server: Server): Promise<Backup>
}

/** A copy of the files and the log from then on, as tools for point-in-time recovery make them. */
export const baseBackup: BackupWay = {
  async start(directory) {
    const server = await startTestPostgres(directory)
    const archive = join(directory, 'archive')
    mkdirSync(archive)
    owned(archive, dataIn(directory))
    await query(server.url, `alter system set archive_mode = on`)
    await query(server.url, `alter system set archive_command = 'cp "%p" "${archive}/%f"'`)
    await server.stop()
    return await startTestPostgres(directory)
  },
  async backUp(directory, { url }) {
    const data = dataIn(directory)
    const copy = join(directory, 'base-backup')
    const archive = join(directory, 'archive')
    await using client = await connected(url)
    await client.query(`select pg_backup_start('test', true)`)
    // Files may go while they are copied: the log makes good for them.
    run('sh', ['-c', 'cp -a "$0" "$1" || [ $? = 1 ]', data, copy])
    const { rows } = await client.query(`select labelfile as label from pg_backup_stop()`)
    const coversMs = performance.now()
    const closed = await client.query(`select pg_walfile_name(pg_switch_wal()) as file`)
    await until(
      'the log is archived',
      () => existsSync(join(archive, closed.rows[0].file)),
      ARCHIVED_MS,
    )
    return {
      coversMs,
      async restore() {
        rmSync(data, { recursive: true })
        run('cp', ['-a', copy, data])
        rmSync(join(data, 'postmaster.pid'), { force: true })
        for (const name of readdirSync(join(data, 'pg_wal'))) {
          rmSync(join(data, 'pg_wal', name), { recursive: true })
        }
        writeFileSync(join(data, 'backup_label'), rows[0].label)
        writeFileSync(join(data, 'recovery.signal'), '')
        appendFileSync(
          join(data, 'postgresql.auto.conf'),
          `restore_command = 'cp "${archive}/%f" "%p"'\n`,
        )
        for (const name of ['backup_label', 'recovery.signal']) owned(join(data, name), data)
        return await startTestPostgres(directory)
      },
    }
  },
}

/** The newest PostgreSQL of Debian that brings a server and pg_dump; undefined where none is installed. */
export const DEBIAN_BIN = existsSync(DEBIAN)
  ? readdirSync(DEBIAN)
      .toSorted((one, other) => Number(other) - Number(one))
      .map((version) => join(DEBIAN, version, 'bin'))
      .find((bin) => ['postgres', 'initdb', 'pg_dump'].every((name) => existsSync(join(bin, name))))
  : undefined

/** pg_dump and pg_restore, of the version of the server. */
export const dump: BackupWay = {
  async start(directory) {
    const port = await freePort()
    mkdirSync(join(directory, 'postgres'))
    await initialise(directory, port)
    return await withDatabase(directory)
  },
  async backUp(directory, { url, port }) {
    const file = join(directory, 'postern.dump')
    const coversMs = performance.now()
    run(join(DEBIAN_BIN ?? '', 'pg_dump'), ['--format=custom', `--file=${file}`, url])
    return {
      coversMs,
      async restore() {
        rmSync(dataIn(directory), { recursive: true })
        await initialise(directory, port)
        const server = await withDatabase(directory)
        const to = ['--exit-on-error', `--dbname=${server.url}`]
        run(join(DEBIAN_BIN ?? '', 'pg_restore'), [...to, file])
        return server
      },
    }
  },
}

/** Makes an empty cluster where `startTestPostgres` looks for one, which takes the programs that made it. */
async function initialise(directory: string, port: number): Promise<void> {
  const place = join(directory, 'postgres')
  const data = join(place, 'data')
  const secret = join(place, 'password')
  const user = await postgresUser('', () => {})
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(secret, PASSWORD)
  if (user !== undefined) for (const path of [data, secret]) chownSync(path, user.uid, user.gid)
  const auth = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${secret}`]
  run(
    join(DEBIAN_BIN ?? '', 'initdb'),
    ['-D', data, ...auth, '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    cleanRun(user),
  )
  writeFileSync(join(place, 'server.json'), JSON.stringify({ data, port, password: PASSWORD }))
}

async function withDatabase(directory: string): Promise<Server> {
  const server = await startTestPostgres(directory)
  const url = new URL(server.url)
  url.pathname = '/postgres'
  await query(url.href, `create database ${new URL(server.url).pathname.slice(1)}`)
  return server
}

function dataIn(directory: string): string {
  const data = dataOf(join(directory, 'postgres'))
  if (data === undefined) throw new Error(`No PostgreSQL was made in ${directory}`)
  return data
}

async function connected(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(url)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: async () => await client.end() })
}

async function query(url: string, sql: string): Promise<void> {
  await using client = await connected(url)
  await client.query(sql)
}

/** Gives a file to whoever owns the other: PostgreSQL does not run as root. */
function owned(path: string, like: string): void {
  const { uid, gid } = statSync(like)
  chownSync(path, uid, gid)
}

function run(file: string, args: readonly string[], options: object = {}): void {
  const { status, stderr, error } = spawnSync(file, args, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? stderr}`)
}
