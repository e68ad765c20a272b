import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A sender that keeps a connection busy uses it once in this time. */
const RETIRE_MS = 1_000
const LOOK_MS = 50

/**
 * Answers on until all connections are closed, for a second at most, and closes each with its next answer: a server that closes idle
 * connections at once closes some under requests that are on their way. It listens meanwhile; the caller closes it afterwards.
 */
export async function retireConnections(server: Server): Promise<void> {
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('connection', 'close')
  })
  const count = promisify(server.getConnections.bind(server))
  const deadline = performance.now() + RETIRE_MS
  while (performance.now() < deadline && (await count()) > 0) await sleep(LOOK_MS)
  // Node would wait for the connection of a request that began before all this until its client closes it.
  const closing = setInterval(() => server.listening || server.closeIdleConnections(), LOOK_MS)
  server.once('close', () => clearInterval(closing))
}
