import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import type { CompiledCidrs } from '../../../core/egress/address.ts'
import { clientAddress } from '../../../core/http/client-address.ts'
import {
  EDGE_OPTIONS,
  guardEdge,
  IDLE_TIMEOUT_MS,
  refuseConnection,
  refusalText,
  type EdgeAnswer,
} from '../../../core/http/edge.ts'
import { hostFault, TOO_MANY_CONNECTIONS, type EdgeFault } from '../../../core/http/fault.ts'
import { closeAfterAnswer, isClosing, isUnfinished } from '../../../core/http/gentle-close.ts'
import { originForm } from '../../../core/http/target.ts'
import { INGEST_REQUEST_TIMEOUT_MS } from '../../../core/limits.ts'
import { plainRefusal, refusal, type Answer } from './answer.ts'
import { handle, type HandleDeps } from './handle.ts'
import { report } from './report.ts'

/** Longer than load balancers keep theirs, so that the balancer closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000

/** The ingest listener. Every path is a mask id, so the router has one route and the target is read as it came. */
export function buildServer(deps: HandleDeps, trusted: CompiledCidrs): FastifyInstance {
  // Faults that no source sees are answered in the shape of ingest too.
  const edge = {
    answer(fault: EdgeFault): EdgeAnswer {
      const answer = refusalOf(fault)
      report(deps, answer, { startedAt: performance.now() })
      return answer
    },
    requestMs: INGEST_REQUEST_TIMEOUT_MS,
  }
  const app = fastify({
    logger: false,
    rewriteUrl: () => '/',
    requestTimeout: INGEST_REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: EDGE_OPTIONS,
    clientErrorHandler: (error, socket) => refuseConnection(edge, error, socket),
    // A request on an open connection is still answered while the process stops; its answer closes the connection.
    return503OnClosing: false,
  })
  guardEdge(app.server, edge)
  // Bodies are read by us: the limit is the source's, and no byte may change. So to fastify no method has one.
  for (const method of app.supportedMethods) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { raw } = request
    if (isClosing(raw.socket)) return reply.hijack()
    const fault = hostFault(raw)
    if (fault !== undefined) {
      const refused = refusalOf(fault)
      const remoteIp = clientAddress(raw, trusted)
      report(deps, refused, { method: request.method, remoteIp, startedAt: performance.now() })
      return await sendLast(reply, refused)
    }
    const target = originForm(request.originalUrl)
    const said = await handle(deps, raw, { target, remoteIp: clientAddress(raw, trusted) })
    return said.close === true ? await sendLast(reply, said) : send(reply, said)
  }
  app.all('/', answer)
  app.setNotFoundHandler(answer)
  return app
}

function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** The connection ends with it where the request has not: what is left of it is not read. */
async function sendLast(reply: FastifyReply, answer: Answer): Promise<FastifyReply> {
  const { raw } = reply.request
  if (!(await isUnfinished(raw))) return send(reply, answer)
  closeAfterAnswer(raw)
  return send(reply, { ...answer, headers: { ...answer.headers, connection: 'close' } })
}

/** Answers a client that has too many connections. */
export const connectionRefusal = (): string =>
  refusalText({ answer: refusalOf }, TOO_MANY_CONNECTIONS)

function refusalOf({ status, code, message }: EdgeFault): Answer {
  if (code === undefined) return plainRefusal(status, message)
  return refusal(code, message, code === 'BAD_REQUEST' ? { fields: [] } : undefined)
}
