import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A request that reached the destination. */
export interface Arrival {
  webhookId: string
  /** `webhook-signature`, and the seconds that it covers. */
  signature: string
  signedAtSeconds: number
  /** Empty where bodies are not kept. */
  body: Buffer
  /** On the monotonic clock. */
  atMs: number
}

/** An endpoint that remembers what came, by the number that each body begins with, and answers 200 unless told to. */
export interface RecordingDestination extends AsyncDisposable {
  url: string
  arrivals: ReadonlyMap<number, readonly Arrival[]>
}

const NO_BODY = Buffer.alloc(0)

export interface DestinationOptions {
  keepsBodies?: boolean
  /** The status for the first, second, … arrival of a number. */
  statusOf?: (arrival: number) => number
  /** How long an answer takes. */
  delayMs?: number
  /** Where it listens. */
  listensOn?: string
  /** The name in its URL, where it has one. */
  host?: string
}

const PATH = '/hook'

export async function openDestination({
  keepsBodies = true,
  statusOf = () => 200,
  delayMs = 0,
  listensOn = '127.0.0.1',
  host = listensOn,
}: DestinationOptions = {}): Promise<RecordingDestination> {
  const arrivals = new Map<number, Arrival[]>()
  const server = createServer((request, response) => {
    // Requests of others to this origin are never answered.
    if (request.url !== PATH) return
    buffer(request)
      .then((body) => {
        const arrival = {
          webhookId: String(request.headers['webhook-id']),
          signature: String(request.headers['webhook-signature']),
          signedAtSeconds: Number(request.headers['webhook-timestamp']),
          body: keepsBodies ? body : NO_BODY,
          atMs: performance.now(),
        }
        const number = numberOf(body)
        const known = arrivals.get(number) ?? []
        known.push(arrival)
        arrivals.set(number, known)
        const answer = (): unknown => response.writeHead(statusOf(known.length)).end('ok')
        return delayMs === 0 ? answer() : setTimeout(answer, delayMs)
      })
      // The worker was killed while it sent: what did not come whole has not arrived.
      .catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, listensOn)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error('The destination has no port')
  return {
    url: `http://${host}:${address.port}${PATH}`,
    arrivals,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function numberOf(body: Buffer): number {
  const number = body.toString('latin1', 0, 40).match(/^\{"number":(\d+)/)?.[1]
  if (number === undefined) throw new Error(`Not a body of ours: ${body.toString('latin1', 0, 40)}`)
  return Number(number)
}
