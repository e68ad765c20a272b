import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** A request as it reached an endpoint. */
export interface Arrival {
  /** On the monotonic clock. */
  atMs: number
  method: string
  target: string
  headers: IncomingMessage['headers']
  /** As they came on the wire. */
  rawHeaders: [name: string, value: string][]
  body: Buffer
}

/** Answers a request, or leaves it without an answer. */
export type Respond = (response: ServerResponse, arrival: Arrival) => void

/** A destination on loopback: a real HTTP server that records what reaches it. */
export interface Endpoint extends AsyncDisposable {
  url: string
  arrivals: Arrival[]
  /** How it answers from now on. */
  respond: Respond
}

/** Answers with a status, and says nothing else unless told to. */
export function says(status: number, headers: Record<string, string> = {}, body = ''): Respond {
  return (response) => {
    response.writeHead(status, headers).end(body)
  }
}

/** Takes the request and never answers. */
export const hangs: Respond = () => undefined

/** Answers the first requests in turn, and all that follow like the last. */
export function inTurn(first: Respond, ...rest: Respond[]): Respond {
  let turn = 0
  return (response, arrival) => {
    const respond = turn === 0 ? first : (rest[Math.min(turn, rest.length) - 1] ?? first)
    turn++
    respond(response, arrival)
  }
}

export async function startEndpoint(
  respond: Respond = says(200),
  host = '127.0.0.1',
): Promise<Endpoint> {
  const server = createServer((request, response) => {
    const atMs = performance.now()
    void bodyOf(request).then((body) => {
      const arrival = arrivalOf(request, body, atMs)
      endpoint.arrivals.push(arrival)
      endpoint.respond(response, arrival)
      return undefined
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No port was given')
  const endpoint: Endpoint = {
    url: `http://${host}:${address.port}/hook`,
    arrivals: [],
    respond,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      if (server.listening) await once(server, 'close')
    },
  }
  return endpoint
}

function arrivalOf(request: IncomingMessage, body: Buffer, atMs: number): Arrival {
  const flat = request.rawHeaders
  return {
    atMs,
    method: request.method ?? '',
    target: request.url ?? '',
    headers: request.headers,
    rawHeaders: flat.flatMap((name, at): [string, string][] =>
      at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [],
    ),
    body,
  }
}

/** A request that breaks off counts with what came of it. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
  } catch {
    // The sender gave up.
  }
  return Buffer.concat(chunks)
}
