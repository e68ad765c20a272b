import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { PUBLIC_BODY_BYTES_MAX } from '../../core/limits.ts'
import { nowDoing } from '../../core/loop/watch.ts'
import { inTurns, jsonItems, wholeText } from '../answers/json-parts.ts'
import { JSON_TYPE, JsonText } from '../answers/json-text.ts'
import { admit } from '../auth/api-key.ts'
import { demand, type Access } from '../auth/principal.ts'
import { rateHeaders } from '../auth/rate-limit.ts'
import type { Deps } from '../deps.ts'
import { admitSession } from '../sessions/admit-session.ts'
import { readBody } from './body.ts'
import { runPublic, runRoute, type RawInput } from './call.ts'
import { answerOnce, comparable, readIdempotencyKey, type Repeatable } from './idempotency.ts'
import { isPublic, type Answer, type KeyedRoute, type PublicRoute, type Route } from './route.ts'

/** A way to the routes: where they are, and who is admitted there. */
interface Door {
  prefix: string
  admit(
    deps: Deps,
    route: KeyedRoute,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Access>
}

/** The API's, for keys alone, and the dashboard's, for people alone. (decisions: Accounts, dashboard, agents) */
const API: Door = {
  prefix: '/v1',
  admit: async (deps, _route, request, reply) =>
    await admit(deps, { headers: request.headers, address: request.clientAddress }, (window) => {
      void reply.headers(rateHeaders(window))
    }),
}
const APP: Door = { prefix: '/app/api/:projectId', admit: admitSession }

/** Has the server answer requests of a route with what the route answers. */
export function mount(app: FastifyInstance, deps: Deps, route: Route): void {
  if (isPublic(route)) mountPublic(app, deps, route)
  else for (const door of [API, APP]) mountKeyed(app, deps, route, door)
}

/** The same for a route that the dashboard alone has. */
export function mountForPeople(app: FastifyInstance, deps: Deps, route: KeyedRoute): void {
  mountKeyed(app, deps, route, APP)
}

function mountKeyed(app: FastifyInstance, deps: Deps, route: KeyedRoute, door: Door): void {
  const accesses = new WeakMap<FastifyRequest, Access>()
  app.route({
    method: route.method,
    url: `${door.prefix}${route.path}`,
    // Before the body is read: a request that may not be made is not looked at.
    onRequest: async (request, reply) => {
      const access = await door.admit(deps, route, request, reply)
      demand(access.principal, route.permission)
      accesses.set(request, access)
    },
    handler: async (request, reply) => {
      const access = accesses.get(request)
      assert(access !== undefined)
      return await answer(route, request, reply, async () => {
        const act = async (): Promise<Answer> =>
          await runRoute(deps, route, access, rawInput(request))
        const repeatable = route.method === 'POST' ? readRepeatable(access, request) : undefined
        return await (repeatable === undefined ? act() : answerOnce(deps, repeatable, act))
      })
    },
  })
}

function mountPublic(app: FastifyInstance, deps: Deps, route: PublicRoute): void {
  const admissions = new WeakMap<FastifyRequest, { admitted: unknown }>()
  app.route({
    method: route.method,
    url: `/v1${route.path}`,
    config: { isPublic: true },
    bodyLimit: PUBLIC_BODY_BYTES_MAX,
    // Before the body is read, as with keys.
    onRequest: async (request) => {
      const remoteIp = request.clientAddress
      const caller = { deps, remoteIp, authorization: request.headers.authorization }
      admissions.set(request, { admitted: await route.admit?.(caller) })
    },
    handler: async (request, reply) =>
      await answer(
        route,
        request,
        reply,
        async () =>
          await runPublic(
            deps,
            route,
            { remoteIp: request.clientAddress, admitted: admissions.get(request)?.admitted },
            rawInput(request),
          ),
      ),
  })
}

async function answer(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<Answer>,
): Promise<FastifyReply> {
  const name = `${route.method} ${route.path}`
  if (route.isSecret === true) void reply.header('cache-control', 'no-store')
  nowDoing(name)
  const { status, headers, body } = await act()
  // The answer is written out before another part begins.
  nowDoing(name)
  if (route.contentType !== undefined) {
    void reply.type(route.contentType)
    // A stream has no last word for a client that closed its sending side: it is gone.
    request.raw.socket.once('end', () => reply.raw.destroy())
  }
  const text = await textOf(route, body)
  if (text !== undefined) void reply.type(JSON_TYPE)
  return await reply
    .code(status)
    .headers(headers ?? {})
    .send(text ?? body)
}

/** The text of an answer that is written already, or that is too long to be written in one turn. */
async function textOf(route: Route, body: unknown): Promise<Buffer | Readable | undefined> {
  if (body instanceof JsonText) return body.text
  if (route.isLong !== true || typeof body !== 'object' || body === null) return undefined
  return await wholeText(inTurns(jsonItems(body)))
}

/** A request as the seam takes it. */
export function rawInput(request: FastifyRequest): RawInput {
  const { params, query, headers, body } = request
  return {
    params: Object.fromEntries(Object.entries(params ?? {})),
    query,
    headers,
    body: () => readBody(body, headers['content-type']),
    hasLeft: () => request.raw.socket.destroyed,
  }
}

function readRepeatable({ principal }: Access, request: FastifyRequest): Repeatable | undefined {
  const key = readIdempotencyKey(request.headers['idempotency-key'])
  if (key === undefined) return undefined
  const { method, url, headers, body } = request
  const [path = ''] = url.split('?', 1)
  const query = url.slice(path.length)
  const project = String(headers['x-project-id'] ?? '')
  const content = [query, project, comparable(body)]
  return { key, actor: principal.actor.name, method, path, content }
}
