import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isAlive } from '../../standalone/processes/os-process.ts'
import { findNatsBinary } from '../../standalone/servers/nats-binary.ts'
import { end, spawnServer } from '../../standalone/servers/server.ts'
import { NATS_CACHE } from './servers.ts'

const STOP_MS = 2_000

/** A server with a configuration of its own; it can be stopped or killed, and started again. Disposing of it stops it. */
export interface NatsServer extends AsyncDisposable {
  pid(): number
  start(): Promise<void>
  stop(): Promise<void>
}

/** A server that is not started yet; its files are in `directory`. */
export async function natsServer(directory: string, config: string): Promise<NatsServer> {
  const { NATS_SERVER_BIN } = process.env
  const { file } = await findNatsBinary({
    cache: NATS_CACHE,
    chosen: NATS_SERVER_BIN,
    env: process.env,
    print: () => {},
  })
  mkdirSync(directory, { recursive: true })
  const configFile = join(directory, 'nats.conf')
  writeFileSync(configFile, config)
  let pid = 0
  const stop = async (): Promise<void> => {
    if (isAlive(pid)) await end(pid, ['SIGTERM', 'SIGKILL'], STOP_MS)
  }
  const start = async (): Promise<void> => {
    const env = { PATH: process.env['PATH'] ?? '' }
    const log = join(directory, 'nats.log')
    const args = ['-c', configFile]
    const child = await spawnServer({ file, args, log, options: { cwd: '/', env } })
    pid = child.pid ?? 0
  }
  return { pid: () => pid, start, stop, [Symbol.asyncDispose]: stop }
}
