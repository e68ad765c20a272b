import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** A port that nothing listens on now. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** So many of them, each another. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map(portOf)
  for (const server of servers) server.close()
  await Promise.all(servers.map((server) => once(server, 'close')))
  return ports
}

/** Whether a server could listen on the port, on `host` or, without one, on every address. */
export async function isFree(port: number, host?: string): Promise<boolean> {
  const server = createServer()
  const listening = Promise.withResolvers<boolean>()
  server.once('error', () => listening.resolve(false))
  server.listen({ port, host }, () => listening.resolve(true))
  const free = await listening.promise
  if (free) {
    server.close()
    await once(server, 'close')
  }
  return free
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Cannot find a free port')
  return address.port
}
