import { request, type Dispatcher } from 'undici'

import { ApiError, isStatus } from './api-error.ts'
import type { Connection } from './connection.ts'
import { apiVersionOf, pathOf, type Kind, type KubeObject } from './object.ts'

const REQUEST_TIMEOUT_MS = 30_000
const PAGE = 500
const JSON_TYPE = 'application/json'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Who asks; the server names it in logs and, for server-side apply, as the manager of fields. */
export interface ClientOptions {
  connection: Connection
  userAgent: string
  /** Called right before each write; throws when this process may not write. */
  fence: () => void
  /** Called with each answer, `error` for none. */
  count: (method: string, code: string) => void
}

export interface Applied {
  fieldManager: string
  /** `status` writes that part alone. */
  subresource?: 'status'
  /** Takes fields over from other managers. */
  force?: boolean
}

interface Sent {
  method: Dispatcher.HttpMethod
  path: string
  query?: Record<string, string>
  body?: unknown
  type?: string
  accept?: string
  timeoutMs?: number
  signal?: AbortSignal | undefined
}

export interface List {
  items: KubeObject[]
  resourceVersion: string
}

/** Requests to the API server, each over a connection that it shares with the others. */
export class KubeClient {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** The same client without the fence or with another: the election writes before anybody may. */
  with(changes: Partial<ClientOptions>): KubeClient {
    return new KubeClient({ ...this.#options, ...changes })
  }

  async get(
    kind: Kind,
    namespace: string,
    name: string,
    timeoutMs?: number,
  ): Promise<KubeObject | undefined> {
    try {
      const path = pathOf(kind, namespace, name)
      return await this.#json({ method: 'GET', path, ...timed(timeoutMs) })
    } catch (error) {
      if (isStatus(error, 404)) return undefined
      throw error
    }
  }

  /** Every object of the kind, page by page. */
  async list(
    kind: Kind,
    { namespace, labels, fields, metadataOnly, signal }: Listed,
  ): Promise<List> {
    const items: KubeObject[] = []
    let next: string | undefined
    for (;;) {
      const query = {
        limit: String(PAGE),
        ...(labels !== undefined && { labelSelector: labels }),
        ...(fields !== undefined && { fieldSelector: fields }),
        ...(next !== undefined && { continue: next }),
      }
      const path = pathOf(kind, namespace)
      const accept = metadataOnly === true ? METADATA_LIST : JSON_TYPE
      const page = await this.#json({ method: 'GET', path, query, accept, signal })
      const found: KubeObject[] = page['items'] ?? []
      items.push(...found)
      const {
        continue: more,
        resourceVersion = '',
      }: { continue?: string; resourceVersion?: string } = page.metadata as object
      if (!more) return { items, resourceVersion }
      next = more
    }
  }

  async create(kind: Kind, object: KubeObject, timeoutMs?: number): Promise<KubeObject> {
    const path = pathOf(kind, object.metadata.namespace)
    return await this.#json({
      method: 'POST',
      path,
      body: typed(kind, object),
      ...timed(timeoutMs),
    })
  }

  /** Fails with 409 when the object has changed since it was read. */
  async replace(kind: Kind, object: KubeObject, timeoutMs?: number): Promise<KubeObject> {
    const { namespace, name } = object.metadata
    const path = pathOf(kind, namespace, name)
    return await this.#json({ method: 'PUT', path, body: typed(kind, object), ...timed(timeoutMs) })
  }

  /** Server-side apply. */
  async apply(kind: Kind, object: KubeObject, applied: Applied): Promise<KubeObject> {
    const { namespace, name } = object.metadata
    const { fieldManager, subresource, force = true } = applied
    const part = subresource === undefined ? '' : `/${subresource}`
    return await this.#json({
      method: 'PATCH',
      path: `${pathOf(kind, namespace, name)}${part}`,
      query: { fieldManager, force: String(force) },
      body: typed(kind, object),
      type: 'application/apply-patch+yaml',
    })
  }

  /** JSON merge patch. With a `resourceVersion` in it, it fails with 409 when the object has changed. */
  async merge(kind: Kind, { namespace, name }: Place, patch: object): Promise<KubeObject> {
    const path = pathOf(kind, namespace, name)
    return await this.#json({
      method: 'PATCH',
      path,
      body: patch,
      type: 'application/merge-patch+json',
    })
  }

  /** True when it was there. `uid` guards against an object of the same name that is another. */
  async delete(
    kind: Kind,
    { namespace, name, uid }: Place & { uid?: string | undefined },
    propagationPolicy: 'Background' | 'Orphan' = 'Background',
  ): Promise<boolean> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy,
      ...(uid !== undefined && { preconditions: { uid } }),
    }
    try {
      await this.#json({ method: 'DELETE', path: pathOf(kind, namespace, name), body })
      return true
    } catch (error) {
      if (isStatus(error, 404)) return false
      throw error
    }
  }

  /** The body of a watch: lines of JSON, until the server ends it. */
  async watch(
    kind: Kind,
    namespace: string | undefined,
    { query, metadataOnly, silentMs, signal }: Watched,
  ): Promise<AsyncIterable<Uint8Array>> {
    const sent = { method: 'GET' as const, path: pathOf(kind, namespace), query, signal }
    const accept = metadataOnly === true ? METADATA : JSON_TYPE
    const response = await this.#send({ ...sent, accept, timeoutMs: silentMs })
    return response.body
  }

  async #json(sent: Sent): Promise<KubeObject> {
    const { body } = await this.#send(sent)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server's word
    return (await body.json()) as KubeObject
  }

  async #send(sent: Sent): Promise<Dispatcher.ResponseData> {
    const {
      method,
      path,
      query = {},
      body,
      type = JSON_TYPE,
      accept = JSON_TYPE,
      timeoutMs,
      signal,
    } = sent
    const { connection, userAgent, fence, count } = this.#options
    const { headers, dispatcher } = await connection.prepare()
    const limitMs = timeoutMs ?? REQUEST_TIMEOUT_MS
    // As near to the sending as can be: the process may have been frozen before it.
    if (method !== 'GET') fence()
    const response = await request(`${connection.server}${path}`, {
      dispatcher,
      method,
      query,
      headers: {
        ...headers,
        accept,
        'user-agent': userAgent,
        ...(body !== undefined && { 'content-type': type }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: Math.min(limitMs, REQUEST_TIMEOUT_MS),
      bodyTimeout: limitMs,
      ...(signal !== undefined && { signal }),
    }).catch((error: unknown) => {
      count(method, 'error')
      throw error
    })
    count(method, String(response.statusCode))
    if (response.statusCode < 300) return response
    const text = await response.body.text()
    const retryAfter = response.headers['retry-after']
    const what = `${method} ${path}`
    throw new ApiError(what, response.statusCode, text, retryAfter)
  }
}

interface Listed {
  namespace?: string | undefined
  labels?: string | undefined
  fields?: string
  /** Objects without what is in them. */
  metadataOnly?: boolean | undefined
  signal?: AbortSignal
}

interface Place {
  namespace?: string | undefined
  name: string
}

interface Watched {
  query: Record<string, string>
  metadataOnly: boolean | undefined
  /** How long it may say nothing. */
  silentMs: number
  signal: AbortSignal
}

function typed(kind: Kind, object: KubeObject): KubeObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object }
}

function timed(timeoutMs: number | undefined): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs }
}
