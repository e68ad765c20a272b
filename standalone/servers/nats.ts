import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

import { z } from 'zod'

import { readJsonFile, writeJsonFile } from '../processes/json-file.ts'
import { lastLines } from '../processes/log-file.ts'
import { commandOf, isAlive, waitFor } from '../processes/os-process.ts'
import { freePort, isFree } from '../processes/ports.ts'
import { findNatsBinary, type NatsBinary, type NatsBinaryOptions } from './nats-binary.ts'
import { death, end, spawnServer, type Server } from './server.ts'

/** JetStream reads its whole store before the port opens. */
const READY_MS = 60_000
const STOP_MS = 2_000
const STOP_SIGNALS = ['SIGTERM', 'SIGKILL'] as const
const PROBE_MS = 1_000
const USER = 'postern'

/**
 * How far a heap of some 10 MB grows before Go looks for garbage in it, in percent: by default, 100, it does so several
 * times a second, on every core. An event costs 29 to 37 us instead of 46. With 400 it is 26, but the server reaches 80 MB
 * while 100,000 deliveries come; with 200 it is 70.
 */
const GARBAGE_PERCENT = '200'

const Kept = z.object({ port: z.number(), password: z.string() })
type Kept = z.infer<typeof Kept>

export interface NatsOptions extends NatsBinaryOptions {
  /** Keeps the port, the password and the JetStream store. */
  directory: string
  log: string
  /** Gives up a start that is under way. */
  stop?: AbortSignal
}

/**
 * NATS with JetStream on a loopback port, ready for clients. Takes over a server that still runs in the directory.
 * The URL carries the user and the password.
 */
export async function startNats(options: NatsOptions): Promise<Server> {
  const { directory, print } = options
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, 'server.json')
  const kept =
    readJsonFile(file, Kept) ?? (await keepPort(file, randomBytes(24).toString('base64url')))
  const running = runningPid(directory)
  if (running !== undefined) {
    const version = await waitUntilReady(kept.port, running, options)
    print(`NATS ${version} still runs (pid ${running}): using it`)
    return serverOf({ kept, pid: running, version })
  }
  const binary = await findNatsBinary(options)
  if (await isFree(kept.port, '127.0.0.1')) return await launch(kept, binary, options)
  const moved = await keepPort(file, kept.password)
  print(`Port ${kept.port} is used by another program: NATS moves to ${moved.port}`)
  return await launch(moved, binary, options)
}

async function keepPort(file: string, password: string): Promise<Kept> {
  const kept = { port: await freePort(), password }
  writeJsonFile(file, kept)
  return kept
}

async function launch(kept: Kept, binary: NatsBinary, options: NatsOptions): Promise<Server> {
  const { directory, log, print } = options
  const config = configFile(directory)
  writeFileSync(config, configText(directory, kept), { mode: 0o600 })
  // A pid kept by a server that was killed may be another program's by now.
  rmSync(join(directory, 'nats.pid'), { force: true })
  const env = { PATH: options.env['PATH'] ?? '', GOGC: GARBAGE_PERCENT }
  const command = { file: binary.file, args: ['-c', config], log, options: { cwd: '/', env } }
  const child = await spawnServer(command)
  const pid = child.pid ?? 0
  const died = death(pid, child)
  const version = await waitUntilReady(kept.port, pid, options).catch(async (error: unknown) => {
    await end(pid, STOP_SIGNALS, STOP_MS)
    throw error
  })
  print(`NATS ${version} runs on port ${kept.port} (${binary.file}, ${binary.origin})`)
  return serverOf({ kept, pid, version, died })
}

interface Running {
  kept: Kept
  pid: number
  version: string
  died?: Promise<void>
}

function serverOf({ kept: { port, password }, pid, version, died }: Running): Server {
  const stop = () => end(pid, STOP_SIGNALS, STOP_MS)
  return {
    url: `nats://${USER}:${password}@127.0.0.1:${port}`,
    port,
    pid,
    version,
    wasAdopted: died === undefined,
    died: died ?? death(pid),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function configFile(directory: string): string {
  return join(directory, 'nats.conf')
}

/** max_payload: the largest body a source may take (5,120 KB) with its headers. */
function configText(directory: string, { port, password }: Kept): string {
  return `
listen: "127.0.0.1:${port}"
pid_file: "${join(directory, 'nats.pid')}"
max_payload: 8MB
authorization { user: "${USER}", password: "${password}" }
jetstream { store_dir: "${join(directory, 'jetstream')}", max_file_store: 8GB, max_memory_store: 64MB }
`
}

function runningPid(directory: string): number | undefined {
  const file = join(directory, 'nats.pid')
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const isOurs = pid > 0 && isAlive(pid) && commandOf(pid).includes(configFile(directory))
  return isOurs ? pid : undefined
}

/** The server's version, once it greets clients. */
async function waitUntilReady(
  port: number,
  pid: number,
  { log, stop }: NatsOptions,
): Promise<string> {
  let version: string | undefined
  const isReady = async () => {
    stop?.throwIfAborted()
    if (!isAlive(pid)) throw new Error(`NATS ended while starting:\n${lastLines(log, 8)}`)
    version = await greeting(port)
    return version !== undefined
  }
  await waitFor(isReady, READY_MS)
  if (version !== undefined) return version
  throw new Error(`NATS takes no clients after ${READY_MS / 1000} s:\n${lastLines(log, 8)}`)
}

/** The first line that a NATS server sends is `INFO {"version": …}`. */
async function greeting(port: number): Promise<string | undefined> {
  const answer = Promise.withResolvers<string | undefined>()
  let text = ''
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setTimeout(PROBE_MS, () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (text.includes('\n')) socket.destroy()
  })
  // A refused connection is the answer "not yet", which 'close' gives.
  socket.on('error', () => {})
  socket.on('close', () => answer.resolve(text.match(/^INFO .*"version":"([^"]+)"/)?.[1]))
  return await answer.promise
}
