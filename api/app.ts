import assert from 'node:assert/strict'

import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import { Histogram } from 'prom-client'

import { refuse, refuseField } from '../core/errors.ts'
import {
  EDGE_OPTIONS,
  guardEdge,
  IDLE_TIMEOUT_MS,
  invite,
  refuseConnection,
  refusalText,
  type EdgeAnswer,
} from '../core/http/edge.ts'
import { hostFault, TOO_MANY_CONNECTIONS, type EdgeFault } from '../core/http/fault.ts'
import { closeAfterAnswer, isClosing, isUnfinished } from '../core/http/gentle-close.ts'
import { originForm } from '../core/http/target.ts'
import { decodeId } from '../core/ids.ts'
import { API_BODY_BYTES_MAX, API_REQUEST_TIMEOUT_MS } from '../core/limits.ts'
import { nowDoing } from '../core/loop/watch.ts'
import { readBody, refuseUnstorable } from './body.ts'
import type { Deps } from './deps.ts'
import { docsPage, PAGE_HEADERS } from './docs/page.ts'
import { badRequest, faultsOf, sendFailure } from './failure.ts'
import { KIND_OF, Name } from './fields.ts'
import { fixed } from './fixed.ts'
import { answerOnce, comparable, readIdempotencyKey, type Repeatable } from './idempotency.ts'
import { openApiDocument, openApiRoute } from './openapi.ts'
import { admit, demand, type Access, type Principal } from './principal.ts'
import { checkRoutes } from './route-check.ts'
import type { Answer, Call, Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { LiveStreams } from './stream/live-streams.ts'

const KEEP_ALIVE_TIMEOUT_MS = 72_000

/** Node refuses longer request lines. */
const PARAM_LENGTH_MAX = 16_384

const edge = { answer: answerFault, requestMs: API_REQUEST_TIMEOUT_MS }

/** The management API without its port. Throws for a table of routes that is not sound. */
export function buildApp(deps: Deps, listed: readonly Route[] = ROUTES): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: API_BODY_BYTES_MAX,
    requestTimeout: API_REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    http: EDGE_OPTIONS,
    rewriteUrl: ({ url = '/' }) => originForm(url),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // What arrives while the process stops is still answered.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseConnection(edge, error, socket),
    requestIdHeader: false,
    genReqId: () => crypto.randomUUID(),
    exposeHeadRoutes: false,
    // A parameter that is too long to be an id is one that is not found, like any other.
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => {
      void sendFailure(deps, error, request, reply)
    },
  })
  guardEdge(app.server, edge)
  app.setErrorHandler(
    async (error, request, reply) => await sendFailure(deps, error, request, reply),
  )
  app.setNotFoundHandler(() => refuseRoute())
  app.addHook('onRequest', async (request, reply) => {
    if (isClosing(request.raw.socket)) return reply.hijack()
    void reply.header('x-request-id', request.id)
    const fault = hostFault(request.raw)
    if (fault !== undefined) refuseField('request', fault.message)
    // Before the body is read: what is sent to no route is not looked at.
    if (request.is404) refuseRoute()
  })
  app.addHook('preParsing', async (request) => invite(request.raw))
  app.addHook('onSend', async ({ raw }, reply) => {
    if (!(await isUnfinished(raw))) return
    closeAfterAnswer(raw)
    void reply.header('connection', 'close')
  })
  // Bodies are parsed after the route is known and the key admitted, by one rule for all.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  measure(app, deps)
  const routes = [...listed, openApiRoute(() => document)]
  checkRoutes(routes)
  const document = openApiDocument(routes)
  const text = JSON.stringify(document)
  app.setReplySerializer((body) => (body === document ? text : JSON.stringify(body)))
  app.get('/openapi.json', fixed(text, { 'content-type': 'application/json; charset=utf-8' }))
  app.get('/docs', fixed(docsPage(document), PAGE_HEADERS))
  const streams = new LiveStreams(deps)
  app.addHook('preClose', async () => streams.close())
  for (const each of routes) mount(app, { ...deps, streams }, each)
  return app
}

function mount(
  app: FastifyInstance,
  { streams, ...deps }: Deps & { streams: LiveStreams },
  route: Route,
): void {
  const accesses = new WeakMap<FastifyRequest, Access>()
  const name = `${route.method} ${route.path}`
  app.route({
    method: route.method,
    url: `/v1${route.path}`,
    onRequest: async (request, reply) => {
      accesses.set(request, await admit(deps, route.permission, request, reply))
    },
    handler: async (request, reply) => {
      const access = accesses.get(request)
      assert(access !== undefined)
      if (route.isSecret === true) void reply.header('cache-control', 'no-store')
      nowDoing(name)
      const act = async (): Promise<Answer> =>
        await route.handle({ deps, streams, ...access, ...readInput(route, request, access) })
      const repeatable = route.method === 'POST' ? readRepeatable(access, request) : undefined
      const answer = await (repeatable === undefined ? act() : answerOnce(deps, repeatable, act))
      // The answer is written out before another part begins.
      nowDoing(name)
      if (route.contentType !== undefined) {
        void reply.type(route.contentType)
        // A stream has no last word for a client that closed its sending side: it is gone.
        request.raw.socket.once('end', () => reply.raw.destroy())
      }
      return await reply
        .code(answer.status)
        .headers(answer.headers ?? {})
        .send(answer.body)
    },
  })
}

function readRepeatable({ principal }: Access, request: FastifyRequest): Repeatable | undefined {
  const key = readIdempotencyKey(request.headers['idempotency-key'])
  if (key === undefined) return undefined
  const { method, url, headers, body } = request
  const [path = ''] = url.split('?', 1)
  const query = url.slice(path.length)
  const project = String(headers['x-project-id'] ?? '')
  const content = [query, project, comparable(body)]
  return { key, actor: principal.actor, method, path, content }
}

function readInput(
  route: Route,
  request: FastifyRequest,
  { principal }: Access,
): Pick<Call, 'params' | 'query' | 'body' | 'headers'> {
  const params = readParams(route, request.params)
  refuseUnstorable('query', request.query)
  const query = route.query?.safeParse(request.query)
  const sent =
    route.body === null ? undefined : readBody(request.body, request.headers['content-type'])
  demandKind(route, principal, sent)
  // An action whose members are all optional takes no body as well as an empty one.
  const body = route.body?.safeParse(sent === undefined ? {} : sent)
  const faults = [
    ...(query?.error ? faultsOf('query', query.error) : []),
    ...(body?.error ? faultsOf('body', body.error) : []),
  ]
  if (faults.length > 0) throw badRequest(faults)
  const headers = Object.keys(route.headers ?? {}).map((name) => [name, request.headers[name]])
  return { params, query: query?.data, body: body?.data, headers: Object.fromEntries(headers) }
}

/** What a kind of action needs comes before the rest of its body, as what a route needs comes before all of it. */
function demandKind({ needsByKind }: Route, principal: Principal, sent: unknown): void {
  if (needsByKind === undefined || typeof sent !== 'object' || sent === null) return
  const kind = 'kind' in sent && typeof sent.kind === 'string' ? sent.kind : ''
  const need = new Map(Object.entries(needsByKind)).get(kind)
  if (need !== undefined) demand(principal, need)
}

function readParams(route: Route, given: unknown): Record<string, string> {
  const texts = new Map(Object.entries(given ?? {}))
  return Object.fromEntries(
    Object.entries(route.params).map(([param, kind]) => {
      const text = String(texts.get(param))
      if (kind === 'name') return [param, readName(param, text)]
      const id = decodeId(kind, text)
      return [param, id ?? refuse('NOT_FOUND', `Cannot find ${KIND_OF[kind]} "${text}"`)]
    }),
  )
}

function readName(param: string, text: string): string {
  const path = `params.${param}`
  refuseUnstorable(path, text)
  const { data, error } = Name.safeParse(text)
  return data ?? refuseField(path, error?.issues[0]?.message ?? 'Not a name')
}

/** What a client is told that has too many connections. */
export const connectionRefusal = (): string => refusalText(edge, TOO_MANY_CONNECTIONS)

/** What is no HTTP never becomes a request; it is answered in the envelope all the same. */
function answerFault({ status, code, message: said }: EdgeFault): EdgeAnswer {
  const isBad = code === 'BAD_REQUEST'
  const { message, data } = isBad
    ? badRequest([{ path: 'request', message: said }])
    : { message: said, data: undefined }
  return {
    headers: {
      'x-request-id': crypto.randomUUID(),
      'content-type': 'application/json; charset=utf-8',
    },
    body: JSON.stringify({ code, status, message, data }),
  }
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
    // How long a client listened is no measure of the API.
    const isStream = String(reply.getHeader('content-type')).startsWith('text/event-stream')
    if (!isStream) seconds.observe(labels, reply.elapsedTime / 1000)
    log.debug({ ...labels, requestId: request.id, durationMs: reply.elapsedTime }, 'Answered')
  })
}
