import { fastify, type FastifyInstance } from 'fastify'

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
import { API_BODY_BYTES_MAX, API_REQUEST_TIMEOUT_MS } from '../core/limits.ts'
import { mountAccounts } from './accounts/mount-accounts.ts'
import { mountAgents } from './agents/mount-agents.ts'
import { mountUnsubscribe } from './alerts/unsubscribe.ts'
import { readClients } from './auth/client-address.ts'
import { servePage } from './dashboard/serve.ts'
import type { Deps } from './deps.ts'
import { docsPage, PAGE_HEADERS } from './docs/page.ts'
import { openHealth } from './front/health.ts'
import { LINKS, LINKS_HEADERS } from './front/root-links.ts'
import { checkRoutes } from './http/check-routes.ts'
import { badRequest, sendFailure } from './http/failure.ts'
import { fixed } from './http/fixed.ts'
import { mount, mountForPeople } from './http/mount.ts'
import { logFault, logRequests } from './http/request-log.ts'
import type { Route } from './http/route.ts'
import { openApiDocument, openApiRoute } from './openapi/document.ts'
import { APP_ROUTES, ROUTES } from './routes.ts'
import { serveSite } from './site/site.ts'

const KEEP_ALIVE_TIMEOUT_MS = 72_000

/** Node refuses longer request lines. */
const PARAM_LENGTH_MAX = 16_384

/** The management API without its port. Throws for a table of routes that is not sound. */
export function buildApp(deps: Deps, listed: readonly Route[] = ROUTES): FastifyInstance {
  const edge = {
    answer(fault: EdgeFault): EdgeAnswer {
      const requestId = crypto.randomUUID()
      logFault(deps, requestId, fault)
      return answerFault(fault, requestId)
    },
    requestMs: API_REQUEST_TIMEOUT_MS,
  }
  const app = fastify({
    logger: false,
    // For the protocol and the host of an address bar: `X-Forwarded-Proto` and `X-Forwarded-Host`.
    trustProxy: deps.trustedProxies.length === 0 ? false : [...deps.trustedProxies],
    bodyLimit: API_BODY_BYTES_MAX,
    requestTimeout: API_REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    http: EDGE_OPTIONS,
    rewriteUrl: ({ url = '/' }) => originForm(url),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // Requests that arrive while the process stops are still answered.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseConnection(edge, error, socket),
    requestIdHeader: false,
    genReqId: () => crypto.randomUUID(),
    exposeHeadRoutes: false,
    // A parameter too long to be an id is answered 404, like any unknown id.
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => {
      void sendFailure(deps, error, request, reply)
    },
  })
  guardEdge(app.server, edge)
  readClients(app, deps.trustedProxies)
  app.setErrorHandler(
    async (error, request, reply) => await sendFailure(deps, error, request, reply),
  )
  app.setNotFoundHandler(() => refuseRoute())
  app.addHook('onRequest', async (request, reply) => {
    if (isClosing(request.raw.socket)) return reply.hijack()
    void reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' })
    const fault = hostFault(request.raw)
    if (fault !== undefined) refuseField('request', fault.message)
    // Runs before the body is read: a request to no route has its body ignored.
    const isFree = request.is404 || request.routeOptions.url === '/'
    if (isFree && servePage(deps.dashboard, request, reply)) return reply
    return request.is404 ? refuseRoute() : undefined
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
  logRequests(app, deps)
  const routes = [...listed, openApiRoute(() => document)]
  checkRoutes(routes)
  const document = openApiDocument(routes)
  const text = JSON.stringify(document)
  app.setReplySerializer((body) => (body === document ? text : JSON.stringify(body)))
  app.get('/openapi.json', fixed(text, { 'content-type': 'application/json; charset=utf-8' }))
  mountDocs(app, deps, document)
  app.get('/', fixed(LINKS, LINKS_HEADERS))
  const isHealthy = openHealth(deps)
  app.get('/healthz', async (_request, reply) => {
    const ok = await isHealthy()
    return reply.code(ok ? 200 : 503).send({ ok })
  })
  app.addHook('preClose', async () => deps.eventStreams.close())
  mountAll(app, deps, routes)
  return app
}

function mountAll(app: FastifyInstance, deps: Deps, routes: readonly Route[]): void {
  for (const each of routes) mount(app, deps, each)
  for (const each of APP_ROUTES) mountForPeople(app, deps, each)
  mountAccounts(app, deps)
  mountAgents(app, deps)
  mountUnsubscribe(app, deps)
}

/** The documentation site where it is built, else the reference alone. */
function mountDocs(
  app: FastifyInstance,
  { site }: Deps,
  document: ReturnType<typeof openApiDocument>,
): void {
  if (site === undefined) {
    app.get('/docs', fixed(docsPage(document), PAGE_HEADERS))
    return
  }
  for (const path of ['/docs', '/docs/*']) {
    app.get(path, async (request, reply) => await serveSite(site, request, reply))
  }
}

/** Answers a client that has too many connections. */
export const connectionRefusal = (): string =>
  refusalText({ answer: (fault) => answerFault(fault, crypto.randomUUID()) }, TOO_MANY_CONNECTIONS)

/** Bytes that are not HTTP never become a request; the client still gets an envelope. */
function answerFault({ status, code, message: said }: EdgeFault, requestId: string): EdgeAnswer {
  const isBad = code === 'BAD_REQUEST'
  const { message, data } = isBad
    ? badRequest([{ path: 'request', message: said }])
    : { message: said, data: undefined }
  return {
    headers: {
      'x-request-id': requestId,
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json; charset=utf-8',
    },
    body: JSON.stringify({ code, status, message, data }),
  }
}

function refuseRoute(): never {
  refuse('NOT_FOUND', 'Cannot find this route')
}
