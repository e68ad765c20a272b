import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below those that Linux gives to outgoing connections, from 32,768 on: such a connection could take the port before its
 * server listens, or while it is being restarted.
 */
const FIRST = 15_000
const END = 32_768

const TRIES_MAX = 1_000

/** Ports given lately, the oldest first: a given port seems free until its server listens. */
const recent = new Set<number>()
const RECENT_MAX = 1_000

/** A port that nothing listens on now, and that nobody else got here a moment ago. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** So many of them, each another. Throws when hardly any is free. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === TRIES_MAX) throw new Error('Cannot find a free port')
    const port = randomInt(FIRST, END)
    if (recent.has(port)) continue
    remember(port)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

function remember(port: number): void {
  recent.add(port)
  const [oldest] = recent
  if (recent.size > RECENT_MAX && oldest !== undefined) recent.delete(oldest)
}

/** Whether a server could listen on the port, on `host` or, without one, on every address. */
export async function isFree(port: number, host?: string): Promise<boolean> {
  return (await whyNotFree(port, host)) === undefined
}

/** The system's code of why no server can listen there (`EADDRINUSE`, `EACCES`, …); undefined when one can. */
export async function whyNotFree(port: number, host?: string): Promise<string | undefined> {
  const server = createServer()
  const listening = Promise.withResolvers<string | undefined>()
  server.once('error', (error) => listening.resolve('code' in error ? String(error.code) : 'error'))
  server.listen({ port, host }, () => listening.resolve(undefined))
  const code = await listening.promise
  if (code === undefined) {
    server.close()
    await once(server, 'close')
  }
  return code
}
