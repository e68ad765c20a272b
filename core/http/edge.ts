import {
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'

import { HEADER_BYTES_MAX, HEADERS_TIMEOUT_MS } from '../limits.ts'
import { EXPECTATION, faultOf, type EdgeFault } from './fault.ts'
import { closeAfterAnswer, closeGently, isClosing } from './gentle-close.ts'

/** An answer in the shape of one server. */
export interface EdgeAnswer {
  headers: Readonly<Record<string, string>>
  body: string | Buffer
}

interface Edge {
  /** How this server words a refusal. */
  answer(fault: EdgeFault): EdgeAnswer
  /** For a body, from its first byte. */
  requestMs: number
}

/** Longer than anything is silent that is under way: an answer that nobody reads ends with it. */
export const IDLE_TIMEOUT_MS = 120_000

/** How often Node looks for requests that are late. */
const CHECK_MS = 1_000

/** Server options that `guardEdge` relies on: they switch off Node's other answers of its own. */
export const EDGE_OPTIONS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_MS,
  maxHeaderSize: HEADER_BYTES_MAX,
  requireHostHeader: false,
} as const satisfies ServerOptions

/**
 * Node answers some requests by itself: without a body, with 400 for all that is late or large, or not at all. Here they
 * are answered as the server answers everything else. The listener for broken connections is given to the caller, since
 * Fastify wants to set it.
 */
export function guardEdge(server: Server, edge: Edge): void {
  // Its bytes are limited: past a number of them Node would drop headers without a word.
  server.maxHeadersCount = 0
  // A client may close its sending side and wait for the answer. Missing from Node's types.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connect', (_request, socket) => {
    const message = 'There is nothing to connect to at this address'
    closeGently(socket, refusalText(edge, { status: 404, code: 'NOT_FOUND', message }))
  })
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response)
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const { headers, body } = edge.answer(EXPECTATION)
    closeAfterAnswer(request)
    const length = Buffer.byteLength(body)
    response
      .writeHead(EXPECTATION.status, { ...headers, 'content-length': length, connection: 'close' })
      .end(body)
  })
}

const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/** Asks for the body, of a client that waits to be asked: one whose request is refused need not send it. */
export function invite(request: IncomingMessage): void {
  if (request.headers.expect !== undefined) waiting.get(request)?.writeContinue()
}

/** Answers a connection on which no valid request arrives in time. */
export function refuseConnection(
  edge: Edge,
  error: Error & { code?: string; reason?: string },
  socket: Socket,
): void {
  if (isClosing(socket)) return
  const current = answerOf(socket)
  if (!socket.writable) {
    socket.destroy()
  } else if (current?.req.complete === true) {
    // An earlier request on this connection still has its answer to come.
    current.once('close', () => setImmediate(refuseConnection, edge, error, socket))
  } else {
    const fault = faultOf(error, current !== undefined, edge.requestMs)
    if (fault === undefined || current?.headersSent === true) socket.destroy()
    else closeGently(socket, refusalText(edge, fault))
  }
}

/** The answer that is under way, as Node itself looks it up to tell the same. */
function answerOf(
  socket: Socket & { _httpMessage?: ServerResponse | null },
): ServerResponse | undefined {
  return socket._httpMessage ?? undefined
}

/** For a connection that has no request. */
export function refusalText(edge: Pick<Edge, 'answer'>, fault: EdgeFault): string {
  const { headers, body } = edge.answer(fault)
  const lines = Object.entries({
    ...headers,
    date: new Date().toUTCString(),
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status]}\r\n${lines.join('')}\r\n${body.toString()}`
}
