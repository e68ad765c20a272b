import { existsSync, readFileSync, rmSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { lastLines } from '../processes/log-file.ts'
import { commandOf, isAlive, waitFor } from '../processes/os-process.ts'
import {
  cleanRun,
  ensureCluster,
  movedToFreePort,
  type Cluster,
  type ClusterOptions,
} from './postgres-data.ts'
import { death, end, spawnServer, type Server } from './server.ts'

/** Recovery after a crash replays up to max_wal_size, about 5 s a GB. */
const READY_MS = 120_000
const STOP_MS = 3_000
/** SIGINT ends the sessions and writes a checkpoint; SIGQUIT leaves that to the recovery of the next start. */
const STOP_SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const
/** The backends of a killed server hold its memory until they notice. */
const SHARED_MEMORY_TRIES = 20
const SHARED_MEMORY_PAUSE_MS = 500

const MB = 2 ** 20
const BUFFERS_MIN_MB = 128
const BUFFERS_MAX_MB = 1_024

/**
 * A 16th of memory, which leaves the rest to the machine. A drain updates what was stored before it: in 256 MB that had given
 * way to what came since (PostgreSQL 33 us a delivery instead of 27).
 */
export function sharedBuffersMb(memoryBytes: number): number {
  return Math.round(Math.min(Math.max(memoryBytes / 16 / MB, BUFFERS_MIN_MB), BUFFERS_MAX_MB))
}

/** The machine's memory, or the part of it that this process may use. */
function usableBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity)
}

/** For one machine that also runs the relay: large writes of small rows, few connections. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: `${sharedBuffersMb(usableBytes())}MB`,
  wal_buffers: '64MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  synchronous_commit: 'on',
  fsync: 'on',
  log_checkpoints: 'off',
  // The text of a statement holds the bodies of webhooks, which belong in no log.
  log_min_error_statement: 'panic',
}

/** Tests kill processes and never a machine, so commits are still written before they answer. */
const FOR_TESTS = { fsync: 'off', full_page_writes: 'off' }

export interface PostgresOptions extends ClusterOptions {
  log: string
  /** Gives up a start that is under way. */
  stop?: AbortSignal
}

/**
 * PostgreSQL on a loopback port, accepting connections. Makes the cluster at the first start, takes over a server that
 * still runs in it, and waits for the recovery of one that was killed.
 */
export async function startPostgres(options: PostgresOptions): Promise<Server> {
  const cluster = await ensureCluster(options)
  const running = runningPid(cluster.data)
  if (running !== undefined) {
    await waitUntilReady(cluster, running, options)
    const port = Number(pidFile(cluster.data)[3])
    options.print(`PostgreSQL ${cluster.binaries.version} still runs (pid ${running}): using it`)
    return serverOf({ ...cluster, port, url: withPort(cluster, port) }, running, undefined)
  }
  const placed = await movedToFreePort(options.directory, cluster, options.print)
  return await launch(placed, options, SHARED_MEMORY_TRIES)
}

async function launch(cluster: Cluster, options: PostgresOptions, tries: number): Promise<Server> {
  const { data, port, binaries, user } = cluster
  // Nothing runs in this directory. A pid that another process has by now would make PostgreSQL refuse to start.
  rmSync(join(data, 'postmaster.pid'), { force: true })
  const settings = { ...SETTINGS, ...(options.durable ? {} : FOR_TESTS), port: String(port) }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = await spawnServer({
    file: join(binaries.root, 'bin', 'postgres'),
    args: ['-D', data, ...flags],
    log: options.log,
    options: cleanRun(user),
  })
  const pid = child.pid ?? 0
  const died = death(pid, child)
  try {
    await waitUntilReady(cluster, pid, options)
  } catch (error) {
    await end(pid, STOP_SIGNALS, STOP_MS)
    if (tries === 0 || !lastLines(options.log, 5).includes('shared memory block')) throw error
    await sleep(SHARED_MEMORY_PAUSE_MS)
    return await launch(cluster, options, tries - 1)
  }
  options.print(`PostgreSQL ${binaries.version} runs on port ${port} (${binaries.root})`)
  return serverOf(cluster, pid, died)
}

function serverOf(cluster: Cluster, pid: number, died: Promise<void> | undefined): Server {
  const stop = () => end(pid, STOP_SIGNALS, STOP_MS)
  return {
    url: cluster.url,
    port: cluster.port,
    pid,
    version: cluster.binaries.version,
    wasAdopted: died === undefined,
    died: died ?? death(pid),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function waitUntilReady(
  { data }: Cluster,
  pid: number,
  { log, print, stop }: PostgresOptions,
): Promise<void> {
  const isReady = () => {
    stop?.throwIfAborted()
    if (!isAlive(pid)) throw new Error(`PostgreSQL ended while starting:\n${lastLines(log, 8)}`)
    const lines = pidFile(data)
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  }
  if (await waitFor(isReady, 3_000)) return
  print('PostgreSQL is recovering what was written before it was killed')
  if (await waitFor(isReady, READY_MS)) return
  throw new Error(
    `PostgreSQL accepts no connections after ${READY_MS / 1000} s:\n${lastLines(log, 8)}`,
  )
}

/** The lines of postmaster.pid: pid, data, start, port, socket, address, memory, status. */
function pidFile(data: string): string[] {
  const file = join(data, 'postmaster.pid')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

/** The pid of the server in this directory. A pid that now belongs to another program is nobody's. */
function runningPid(data: string): number | undefined {
  const pid = Number(pidFile(data)[0] ?? 0)
  return pid > 0 && isAlive(pid) && commandOf(pid).includes(data) ? pid : undefined
}

function withPort({ url, port }: Cluster, actual: number): string {
  return url.replace(`:${port}/`, `:${actual}/`)
}
