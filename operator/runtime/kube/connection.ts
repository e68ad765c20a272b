import { createHash } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import type { ConnectionOptions } from 'node:tls'

import { KubeConfig } from '@kubernetes/client-node'
import { Agent, ProxyAgent, type Dispatcher } from 'undici'

/** Requests of one credential at once; a watch takes one of them. */
const CONNECTIONS_MAX = 64
const KEEP_ALIVE_MS = 30_000
const CREDENTIALS_MAX = 4

/** Where the API server is, and how a request proves who sends it. */
export interface Connection extends AsyncDisposable {
  server: string
  prepare(): Promise<Prepared>
}

interface Prepared {
  headers: Record<string, string>
  dispatcher: Dispatcher
}

/**
 * From a kubeconfig; without one as the service account of the pod. The library would make a dispatcher, and so a
 * connection, for each request: here it is one for each credential.
 */
export function openConnection(kubeconfig?: string): Connection {
  const config = new KubeConfig()
  if (kubeconfig === undefined) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('The kubeconfig names no cluster')
  const dispatchers = new Map<string, Dispatcher>()
  return {
    server: cluster.server.replace(/\/$/, ''),
    async prepare() {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      const tls = tlsOf(options)
      const headers = textHeaders(options)
      const name = createHash('sha256').update(JSON.stringify(tls)).digest('hex')
      const known = dispatchers.get(name)
      if (known !== undefined) return { headers, dispatcher: known }
      const dispatcher = dispatcherOf(tls, cluster.proxyUrl)
      dispatchers.set(name, dispatcher)
      dropOldest(dispatchers)
      return { headers, dispatcher }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Array.from(dispatchers.values(), async (one) => await one.destroy()))
    },
  }
}

type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): Tls {
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  }
}

function dispatcherOf(tls: Tls, proxyUrl: string | undefined): Dispatcher {
  const pool = { connections: CONNECTIONS_MAX, pipelining: 1 }
  if (proxyUrl !== undefined && proxyUrl !== '') {
    if (!/^https?:/.test(proxyUrl))
      throw new Error('The proxy to the API server must be an HTTP one')
    return new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: tls })
  }
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }
  return new Agent({ ...pool, connect })
}

/** Certificates are renewed: connections of an old one end when what they carry has ended. */
function dropOldest(dispatchers: Map<string, Dispatcher>): void {
  const [oldest] = dispatchers
  if (dispatchers.size <= CREDENTIALS_MAX || oldest === undefined) return
  dispatchers.delete(oldest[0])
  void oldest[1].close()
}

function textHeaders({ headers, auth }: RequestOptions): Record<string, string> {
  const basic = auth ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])
  return { ...basic, ...Object.fromEntries(given) }
}
