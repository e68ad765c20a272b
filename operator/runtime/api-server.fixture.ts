import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { KubeClient } from './kube/client.ts'
import { openConnection } from './kube/connection.ts'
import type { KubeObject } from './kube/object.ts'

/** The answer to a request instead of the ordinary one; undefined lets it through. */
export type Fault = (asked: Asked) => Misdeed | undefined

interface Asked {
  method: string
  path: string
  query: URLSearchParams
}

type Misdeed =
  | { kind: 'status'; status: number; retryAfter?: string }
  | { kind: 'reset' }
  /** A watch that begins with this line. */
  | { kind: 'line'; line: string }
  /** A watch that ends at once. */
  | { kind: 'end' }
  /** An answer that never comes. */
  | { kind: 'silence' }

export interface ApiServer extends AsyncDisposable {
  client: KubeClient
  connections: () => number
  /** Requests so far: `GET /path` and `WATCH /path`. */
  asked: string[]
  fault: Fault | undefined
  put(path: string, object: KubeObject): KubeObject
  remove(path: string, name: string): void
  get(path: string, name: string): KubeObject | undefined
  /** Ends every watch. */
  endWatches(): void
}

interface Watch {
  path: string
  response: ServerResponse
}

/**
 * An API server that breaks as it is told: lists, watches with resource versions, creates, replaces and merges. It knows
 * no schema and no apply: for that tests have the real one.
 */
export async function startApiServer(): Promise<ApiServer> {
  const state = new State()
  const server = createServer((request, response) => void state.answer(request, response))
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo
  const directory = mkdtempSync(join(tmpdir(), 'postern-kubeconfig-'))
  const file = join(directory, 'config')
  writeFileSync(file, kubeconfig(port))
  const connection = openConnection(file)
  const client = new KubeClient({ connection, userAgent: 'test', fence() {}, count() {} })
  return Object.assign(state, {
    client,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
      rmSync(directory, { recursive: true })
    },
  })
}

class State {
  readonly asked: string[] = []
  fault: Fault | undefined
  readonly #lists = new Map<string, Map<string, KubeObject>>()
  readonly #watches = new Set<Watch>()
  readonly #log: { path: string; version: number; line: string }[] = []
  #version = 100

  put(path: string, object: KubeObject): KubeObject {
    const list = this.#lists.get(path) ?? new Map<string, KubeObject>()
    this.#lists.set(path, list)
    const before = list.get(object.metadata.name)
    const uid = object.metadata.uid ?? before?.metadata.uid ?? `uid-${this.#version}`
    const resourceVersion = String(++this.#version)
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion } }
    list.set(object.metadata.name, stored)
    this.#tell(path, before === undefined ? 'ADDED' : 'MODIFIED', stored)
    return stored
  }

  remove(path: string, name: string): void {
    const list = this.#lists.get(path)
    const before = list?.get(name)
    if (before === undefined) return
    list?.delete(name)
    const resourceVersion = String(++this.#version)
    this.#tell(path, 'DELETED', { ...before, metadata: { ...before.metadata, resourceVersion } })
  }

  get(path: string, name: string): KubeObject | undefined {
    return this.#lists.get(path)?.get(name)
  }

  endWatches(): void {
    for (const { response } of this.#watches) response.end()
    this.#watches.clear()
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.setEncoding('utf8').toArray()).join('')
    const url = new URL(request.url ?? '', 'http://localhost')
    const query = url.searchParams
    const isWatch = query.get('watch') === 'true'
    const method = request.method ?? ''
    this.asked.push(`${isWatch ? 'WATCH' : method} ${url.pathname}`)
    const misdeed = this.fault?.({ method, path: url.pathname, query })
    if (misdeed !== undefined) this.#misbehave(misdeed, response)
    else if (isWatch) this.#watch(url.pathname, Number(query.get('resourceVersion')), response)
    else this.#serve(method, url.pathname, text === '' ? undefined : JSON.parse(text), response)
  }

  #misbehave(misdeed: Misdeed, response: ServerResponse): void {
    if (misdeed.kind === 'reset') response.socket?.resetAndDestroy()
    else if (misdeed.kind === 'end') response.end()
    else if (misdeed.kind === 'line') response.end(`${misdeed.line}\n`)
    else if (misdeed.kind === 'status') {
      const { status, retryAfter } = misdeed
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
      response.end(JSON.stringify({ reason: 'Fault', message: 'As it was told' }))
    }
  }

  #watch(path: string, from: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    for (const entry of this.#log) {
      if (entry.path === path && entry.version > from) response.write(entry.line)
    }
    const watch = { path, response }
    this.#watches.add(watch)
    response.on('close', () => this.#watches.delete(watch))
  }

  #serve(
    method: string,
    path: string,
    body: KubeObject | undefined,
    response: ServerResponse,
  ): void {
    const send = (status: number, object: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(object))
    }
    if (method === 'GET' && !this.#isObject(path)) {
      const items = [...(this.#lists.get(path)?.values() ?? [])]
      send(200, { metadata: { resourceVersion: String(this.#version) }, items })
      return
    }
    if (method === 'POST' && body !== undefined) {
      if (this.get(path, body.metadata.name) === undefined) send(201, this.put(path, body))
      else send(409, { reason: 'AlreadyExists', message: 'It exists' })
      return
    }
    const at = path.lastIndexOf('/')
    const [list, name] = [path.slice(0, at), path.slice(at + 1)]
    const found = this.get(list, name)
    if (found === undefined) send(404, { reason: 'NotFound', message: 'It does not exist' })
    else if (method === 'GET') send(200, found)
    else if (
      body?.metadata?.resourceVersion !== undefined &&
      body.metadata.resourceVersion !== found.metadata.resourceVersion
    )
      send(409, { reason: 'Conflict', message: 'It has changed' })
    else if (method === 'PUT' && body !== undefined) send(200, this.put(list, body))
    else send(200, this.put(list, { ...found, ...body, metadata: found.metadata }))
  }

  /** Every list ends with a plural here, and no object is called like one. */
  #isObject(path: string): boolean {
    return !path.endsWith('s')
  }

  #tell(path: string, type: string, object: KubeObject): void {
    const line = `${JSON.stringify({ type, object })}\n`
    this.#log.push({ path, version: this.#version, line })
    for (const watch of this.#watches) if (watch.path === path) watch.response.write(line)
  }
}

function kubeconfig(port: number): string {
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: { token: 'test' } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}
