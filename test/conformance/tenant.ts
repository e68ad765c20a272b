import { expect, inject, onTestFinished, vi } from 'vitest'

import { RESOURCES, type Permissions } from '../../core/keys/permissions.ts'
import type { PlanName } from '../../core/plans/plans.ts'
import { callApi, type Answer, type CallOptions } from '../kit/call-api.ts'
import { startEndpoint, type Endpoint, type Respond } from '../kit/endpoint.ts'
import type { IngestReply, Resource } from '../kit/relay.ts'
import { admin } from './admin.ts'

const { apiUrl, ingestUrl, endpointHost } = inject('installation')

/** Everything a key can be given. */
export const EVERYTHING: Permissions = Object.fromEntries(
  RESOURCES.map((resource) => [resource, 'write']),
)

interface Sent {
  method?: string
  /** Appended to the mask id: a path, a query or both. */
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer<ArrayBuffer>
}

interface KeyOptions {
  permissions?: Permissions | null
  project?: string
  expires?: string
}

/** A source, a connection and a destination whose requests are recorded. */
interface Route {
  source: Resource
  destination: Resource
  connection: Resource
  endpoint: Endpoint
}

interface RouteFields {
  source?: object
  destination?: object
  connection?: object
  respond?: Respond
}

/** An organisation of its own, with a key that may do everything. */
export interface Tenant {
  organisationId: string
  projectId: string
  key: string
  /** Whatever it answers. */
  api(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  /** The body of a 2xx. Throws on any other answer. */
  get(path: string): Promise<Resource>
  post(path: string, body?: object): Promise<Resource>
  patch(path: string, data: object): Promise<Resource>
  make(kind: string, fields?: object): Promise<Resource>
  makeKey(options?: KeyOptions): Promise<{ id: string; key: string }>
  connect(source: Resource, destination: Resource, fields?: object): Promise<Resource>
  /** Ends with the test. */
  route(fields?: RouteFields): Promise<Route>
  /** Waits until the event's newest delivery looks like this; returns it with its attempts. */
  reaches(eventId: string, expected: object, withinMs?: number): Promise<Resource>
}

const POLL_MS = 100

/** Asks again and again until the expectation holds. A key has 600 requests a minute for it. */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 10_000): Promise<T> {
  return await vi.waitFor(look, { timeout: withinMs, interval: POLL_MS })
}

let count = 0

export async function openTenant(plan: PlanName = 'enterprise'): Promise<Tenant> {
  const name = `Organisation ${++count}`
  const made = await admin('organisations', 'create', '--name', name, '--plan', plan)
  const organisationId = String(made['id'])
  const makeKey = async (options: KeyOptions = {}) => await createKey(organisationId, options)
  const { key } = await makeKey()
  const api: Tenant['api'] = async (method, path, body, options) =>
    await call(method, path, body, { key, ...options })
  const good = async (method: string, path: string, body?: object): Promise<Resource> => {
    const answer = await api(method, path, body)
    if (answer.status < 300) return answer.body
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const get: Tenant['get'] = async (path) => await good('GET', path)
  const make: Tenant['make'] = async (kind, fields) =>
    await good('POST', `/v1/${kind}`, { name: `${kind} ${++count}`, ...fields })
  const connect: Tenant['connect'] = async (source, destination, fields) =>
    await make('connections', { sourceId: source.id, destinationId: destination.id, ...fields })
  return {
    organisationId,
    projectId: String(made['defaultProjectId']),
    key,
    api,
    get,
    post: async (path, body) => await good('POST', path, body),
    patch: async (path, data) => await good('PATCH', path, { data }),
    make,
    makeKey,
    connect,
    async route({ source, destination, connection, respond } = {}) {
      const endpoint = await openEndpoint(respond)
      const from = await make('sources', source)
      const to = await make('destinations', { url: endpoint.url, ...destination })
      const between = await connect(from, to, connection)
      return { source: from, destination: to, connection: between, endpoint }
    },
    async reaches(eventId, expected, withinMs) {
      return await eventually(async () => {
        const { deliveries } = await get(`/v1/events/${eventId}`)
        const delivery = await get(`/v1/deliveries/${deliveries[0]?.id}`)
        expect(delivery).toMatchObject(expected)
        return delivery
      }, withinMs)
    },
  }
}

/** A destination on the one address that is open to deliveries; it ends with the test. */
export async function openEndpoint(respond?: Respond): Promise<Endpoint> {
  const endpoint = await startEndpoint(respond, endpointHost)
  onTestFinished(async () => await endpoint[Symbol.asyncDispose]())
  return endpoint
}

/** Sends to the ingest address of a source, as a provider does. */
export async function send(source: Resource, sent: Sent = {}): Promise<IngestReply> {
  const { method = 'POST', path = '', headers = {}, body = '' } = sent
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const answer = await fetch(`${ingestUrl}/${source.maskId}${path}`, {
    method,
    headers,
    ...(hasBody && { body }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    text,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

/** Sends, expects the 200 of a stored event and returns the event's id. */
export async function accept(source: Resource, sent?: Sent): Promise<string> {
  const { status, text, body } = await send(source, sent)
  if (status !== 200) throw new Error(`Ingest answered ${status}: ${text}`)
  return body.eventId
}

export async function call(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  return await callApi(apiUrl, { method, path, body }, options)
}

async function createKey(
  organisationId: string,
  { permissions = EVERYTHING, project, expires }: KeyOptions,
): Promise<{ id: string; key: string }> {
  const words = [
    ...(permissions === null ? ['--unscoped'] : permissionWords(permissions)),
    ...(project === undefined ? [] : ['--project', project]),
    ...(expires === undefined ? [] : ['--expires', expires]),
  ]
  const named = ['--name', `Key ${++count}`, '--organisation', organisationId]
  const made = await admin('keys', 'create', ...named, ...words)
  return { id: String(made['id']), key: String(made['key']) }
}

/** As `keys create` and `keys rescope` take them. */
export function permissionWords(permissions: Permissions): string[] {
  return Object.entries(permissions).flatMap(([resource, level]) => [
    '--permission',
    `${resource}=${level}`,
  ])
}
