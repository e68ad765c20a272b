import assert from 'node:assert/strict'
import type { Socket } from 'node:net'

import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import { Histogram } from 'prom-client'

import { refuse } from '../core/errors.ts'
import { decodeId } from '../core/ids.ts'
import { API_BODY_BYTES_MAX } from '../core/limits.ts'
import { readBody, refuseUnstorable } from './body.ts'
import type { Deps } from './deps.ts'
import { badRequest, faultsOf, sendFailure } from './failure.ts'
import { KIND_OF } from './fields.ts'
import { openApiDocument, openApiRoute } from './openapi.ts'
import { admit, type Access } from './principal.ts'
import type { Call, Route } from './route.ts'
import { ROUTES } from './routes.ts'

/** The slowest client that still sends a request of 1 MiB. */
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000

/** Node refuses longer request lines. */
const PARAM_LENGTH_MAX = 16_384

/** The management API without its port. */
export function buildApp(deps: Deps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: API_BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // What arrives while the process stops is still answered.
    return503OnClosing: false,
    clientErrorHandler: refuseConnection,
    requestIdHeader: false,
    genReqId: () => crypto.randomUUID(),
    exposeHeadRoutes: false,
    // A parameter that is too long to be an id is one that is not found, like any other.
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => {
      void sendFailure(deps.log, error, request, reply)
    },
  })
  app.setErrorHandler(
    async (error, request, reply) => await sendFailure(deps.log, error, request, reply),
  )
  app.setNotFoundHandler(() => refuseRoute())
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id)
    // Before the body is read: what is sent to no route is not looked at.
    if (request.is404) refuseRoute()
  })
  // Bodies are parsed after the route is known and the key admitted, by one rule for all.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  measure(app, deps)
  const routes = [...ROUTES, openApiRoute(() => document)]
  const document = openApiDocument(routes)
  app.get('/openapi.json', () => document)
  for (const each of routes) mount(app, deps, each)
  return app
}

function mount(app: FastifyInstance, deps: Deps, route: Route): void {
  const accesses = new WeakMap<FastifyRequest, Access>()
  app.route({
    method: route.method,
    url: `/v1${route.path}`,
    onRequest: async (request, reply) => {
      accesses.set(request, await admit(deps, route.permission, request, reply))
    },
    handler: async (request, reply) => {
      const access = accesses.get(request)
      assert(access !== undefined)
      const answer = await route.handle({ deps, ...access, ...readInput(route, request) })
      return await reply.code(answer.status).send(answer.body)
    },
  })
}

function readInput(route: Route, request: FastifyRequest): Pick<Call, 'params' | 'query' | 'body'> {
  const params = readParams(route, request.params)
  refuseUnstorable('query', request.query)
  const query = route.query?.safeParse(request.query)
  const sent =
    route.body === null ? undefined : readBody(request.body, request.headers['content-type'])
  // An action whose members are all optional takes no body as well as an empty one.
  const body = route.body?.safeParse(sent === undefined ? {} : sent)
  const faults = [
    ...(query?.error ? faultsOf('query', query.error) : []),
    ...(body?.error ? faultsOf('body', body.error) : []),
  ]
  if (faults.length > 0) throw badRequest(faults)
  return { params, query: query?.data, body: body?.data }
}

function readParams(route: Route, given: unknown): Record<string, string> {
  const texts = new Map(Object.entries(given ?? {}))
  return Object.fromEntries(
    Object.entries(route.params).map(([name, prefix]) => {
      const text = String(texts.get(name))
      const id = decodeId(prefix, text)
      return [name, id ?? refuse('NOT_FOUND', `Cannot find ${KIND_OF[prefix]} "${text}"`)]
    }),
  )
}

/** What is no HTTP never becomes a request; it is answered in the envelope all the same. */
function refuseConnection(error: Error, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy(error)
    return
  }
  const { code, message, data } = badRequest([{ path: 'request', message: error.message }])
  const body = JSON.stringify({ code, status: 400, message, data })
  const headers = [
    'HTTP/1.1 400 Bad Request',
    `x-request-id: ${crypto.randomUUID()}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}

function refuseRoute(): never {
  refuse('NOT_FOUND', 'Cannot find this route')
}

function measure(app: FastifyInstance, { registry, log }: Deps): void {
  const seconds = new Histogram({
    name: 'postern_api_request_seconds',
    help: 'Time to answer a request of the management API',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none'
    const labels = { method: request.method, route, status: reply.statusCode }
    seconds.observe(labels, reply.elapsedTime / 1000)
    log.debug({ ...labels, requestId: request.id, durationMs: reply.elapsedTime }, 'Answered')
  })
}
