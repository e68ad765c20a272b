import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'

import { Agent, request } from 'undici'

/** A request on its way from an operator to a server. */
export interface Passing {
  method: string
  /** With its query. */
  path: string
  body: string
  authorization: string | undefined
  at: number
  /** Once the server has answered. */
  status?: number
}

/** The proxy's own doing in place of passing on: `drop` is no answer at all. */
type Verdict = { status: number; headers?: Record<string, string>; body: object } | 'drop'

/** Looks at a request before the server hears of it, and at its answer before the operator does. */
export interface Watcher {
  before?: (asked: Passing) => Promise<Verdict | undefined> | Verdict | undefined
  /** `pass` hands the answer to the operator, and resolves when it is written. */
  after?: (asked: Passing, pass: () => Promise<void>) => Promise<void>
}

export interface Proxy extends AsyncDisposable {
  url: string
  /** Requests so far. */
  seen: Passing[]
  watcher: Watcher
  /** Ends every connection of an operator: its watches among them. */
  cut(): void
}

/** Between an operator and a server, so that a test may see, stop and answer each request. */
export async function openProxy(
  target: string,
  tls: { ca?: string; cert?: string; key?: string } = {},
): Promise<Proxy> {
  const dispatcher = new Agent({ connections: 128, connect: tls })
  const proxy = { seen: new Array<Passing>(), watcher: {} satisfies Watcher as Watcher }
  const server = createServer((incoming, outgoing) => {
    void passOn(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const passOn = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await incoming.toArray()).toString('utf8')
    const { method = '', url = '' } = incoming
    const { authorization } = incoming.headers
    const at = performance.now()
    const asked: Passing = { method, path: url, body, authorization, at }
    proxy.seen.push(asked)
    const verdict = await proxy.watcher.before?.(asked)
    if (verdict === 'drop') return void outgoing.destroy()
    if (verdict !== undefined) {
      const headers = { 'content-type': 'application/json', ...verdict.headers }
      return void outgoing.writeHead(verdict.status, headers).end(JSON.stringify(verdict.body))
    }
    await forward(asked, incoming, outgoing)
  }
  const forward = async (
    asked: Passing,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> => {
    const { host: _, connection: __, 'content-length': ___, ...headers } = incoming.headers
    const isWatch = asked.path.includes('watch=true')
    const gone = new AbortController()
    // A watch ends with its reader; another request runs to its end, as it would on a network.
    if (isWatch) outgoing.once('close', () => gone.abort())
    const response = await request(`${target}${asked.path}`, {
      dispatcher,
      method: asked.method,
      headers,
      body: asked.body === '' ? null : asked.body,
      headersTimeout: 0,
      bodyTimeout: 0,
      signal: gone.signal,
    })
    asked.status = response.statusCode
    const write = (): void => {
      const { 'transfer-encoding': ____, connection: _____, ...kept } = response.headers
      outgoing.writeHead(response.statusCode, kept)
    }
    if (isWatch) {
      write()
      outgoing.flushHeaders()
      return await pipeline(response.body, outgoing)
    }
    const answer = Buffer.from(await response.body.arrayBuffer())
    const pass = async (): Promise<void> => {
      write()
      await new Promise<void>((resolve) => outgoing.end(answer, () => resolve()))
    }
    await (proxy.watcher.after ?? (async (_asked, hand) => await hand()))(asked, pass)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${port}`,
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await dispatcher.destroy()
    },
  })
}
