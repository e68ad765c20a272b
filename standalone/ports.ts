import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that nothing listens on now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('Cannot find a free port')
  return address.port
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
