import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isAlive } from '../../standalone/processes/os-process.ts'
import { freePorts } from '../../standalone/processes/ports.ts'
import { findNatsBinary } from '../../standalone/servers/nats-binary.ts'
import { end, spawnServer } from '../../standalone/servers/server.ts'
import { NATS_CACHE } from './servers.ts'

const STOP_MS = 2_000

/** A server of the cluster; it can be killed, and started again with its store. */
interface NatsNode {
  name: string
  url: string
  pid(): number
  start(): Promise<void>
  /** Removes its store, while it is down. */
  wipe(): void
}

/** Servers on loopback that hold their streams together. Disposing of it stops them. */
export interface NatsCluster extends AsyncDisposable {
  nodes: readonly NatsNode[]
}

/** Starts as many servers as JetStream copies a stream to: one of three can be missing. */
export async function startNatsCluster(directory: string, size = 3): Promise<NatsCluster> {
  const { NATS_SERVER_BIN } = process.env
  const { file } = await findNatsBinary({
    cache: NATS_CACHE,
    chosen: NATS_SERVER_BIN,
    env: process.env,
    print: () => {},
  })
  const ports = await freePorts(2 * size)
  const routes = ports.slice(size).map((port) => `nats://127.0.0.1:${port}`)
  await using stack = new AsyncDisposableStack()
  const nodes = Array.from({ length: size }, (_, index): NatsNode => {
    const name = `node-${index}`
    const place = join(directory, name)
    mkdirSync(place, { recursive: true })
    const config = join(place, 'nats.conf')
    writeFileSync(
      config,
      `
server_name: ${name}
listen: "127.0.0.1:${ports[index]}"
max_payload: 8MB
jetstream { store_dir: "${place}", max_file_store: 8GB }
cluster { name: together, listen: "127.0.0.1:${ports[size + index]}", routes: [${routes.map((route) => `"${route}"`).join(', ')}] }
`,
    )
    let pid = 0
    stack.defer(async () => {
      if (isAlive(pid)) await end(pid, ['SIGTERM', 'SIGKILL'], STOP_MS)
    })
    const start = async (): Promise<void> => {
      const env = { PATH: process.env['PATH'] ?? '' }
      const log = join(place, 'nats.log')
      const child = await spawnServer({
        file,
        args: ['-c', config],
        log,
        options: { cwd: '/', env },
      })
      pid = child.pid ?? 0
    }
    const url = `nats://127.0.0.1:${ports[index]}`
    const wipe = (): void => rmSync(join(place, 'jetstream'), { recursive: true, force: true })
    return { name, url, pid: () => pid, start, wipe }
  })
  for (const node of nodes) await node.start()
  const owned = stack.move()
  return { nodes, [Symbol.asyncDispose]: async () => await owned.disposeAsync() }
}
