import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import type { Answer } from './answer.ts'
import { refusal } from './answer.ts'
import { handle, type HandleDeps } from './handle.ts'

/** A sender that is slower than this is not sending a webhook. */
const HEADERS_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 60_000

/** Longer than load balancers keep theirs, so that the balancer closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000

/** The ingest listener. Every path is a mask id, so the router has one route and the target is read as it came. */
export function buildServer(deps: HandleDeps, trustedProxies: readonly string[]): FastifyInstance {
  const app = fastify({
    logger: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    rewriteUrl: () => '/',
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    clientErrorHandler: answerBrokenRequest,
    // What arrives on an open connection while the process stops is still taken; its answer closes the connection.
    return503OnClosing: false,
  })
  // Bodies are read by us: the limit is the source's, and no byte may change. So to fastify no method has one.
  for (const method of app.supportedMethods) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    send(reply, await handle(deps, request.raw, { target: request.originalUrl, ip: request.ip }))
  app.all('/', answer)
  app.setNotFoundHandler(answer)
  return app
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  const isCut = answer.close === true && !reply.request.raw.complete
  const headers = isCut ? { ...answer.headers, connection: 'close' } : answer.headers
  return reply.code(answer.status).headers(headers).send(answer.body)
}

/** What is not HTTP at all is answered in ingest's own shape too. */
function answerBrokenRequest(
  error: Error & { code?: string },
  socket: { writable: boolean; end(text: string): void; destroy(): void },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { body } = refusal('BAD_REQUEST', 'The request is not valid HTTP', { fields: [] })
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body.toString()}`,
  )
}
