import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { freePorts } from '../../standalone/processes/ports.ts'
import { natsServer, type NatsServer } from './nats-server.ts'

/** A server of the cluster; it can be killed, and started again with its store. */
interface NatsNode extends NatsServer {
  name: string
  url: string
  /** Removes its store, while it is down. */
  wipe(): void
}

/** Servers on loopback that hold their streams together. Disposing of it stops them. */
export interface NatsCluster extends AsyncDisposable {
  nodes: readonly NatsNode[]
}

/** Starts as many servers as JetStream copies a stream to: one of three can be missing. */
export async function startNatsCluster(directory: string, size = 3): Promise<NatsCluster> {
  const ports = await freePorts(2 * size)
  const routes = ports.slice(size).map((port) => `nats://127.0.0.1:${port}`)
  await using stack = new AsyncDisposableStack()
  const nodes = await Promise.all(
    Array.from({ length: size }, async (_, index): Promise<NatsNode> => {
      const name = `node-${index}`
      const place = join(directory, name)
      const config = `
server_name: ${name}
listen: "127.0.0.1:${ports[index]}"
max_payload: 8MB
jetstream { store_dir: "${place}", max_file_store: 8GB }
cluster { name: together, listen: "127.0.0.1:${ports[size + index]}", routes: [${routes.map((route) => `"${route}"`).join(', ')}] }
`
      const server = stack.use(await natsServer(place, config))
      const wipe = (): void => rmSync(join(place, 'jetstream'), { recursive: true, force: true })
      return { ...server, name, url: `nats://127.0.0.1:${ports[index]}`, wipe }
    }),
  )
  for (const node of nodes) await node.start()
  const owned = stack.move()
  return { nodes, [Symbol.asyncDispose]: async () => await owned.disposeAsync() }
}
