import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Cluster } from './cluster.ts'
import { pkiFile } from './pki.ts'
import { openProxy, type Passing, type Proxy } from './proxy.ts'

export interface ApiProxy extends Proxy {
  /** With which an operator talks through the proxy. */
  kubeconfig: string
}

let count = 0

/** In front of the API server: with all rights, or with those of a token. */
export async function openApiProxy(cluster: Cluster, token?: string): Promise<ApiProxy> {
  const read = (file: string): string => readFileSync(pkiFile(cluster.dir, file), 'utf8')
  const admin = { cert: read('admin.crt'), key: read('admin.key') }
  const tls = { ca: read('ca.crt'), ...(token === undefined && admin) }
  const proxy = await openProxy(cluster.server, tls)
  const kubeconfig = join(cluster.dir, 'kubeconfig', `proxy-${process.pid}-${count++}`)
  const user = token === undefined ? {} : { token }
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'proxy', cluster: { server: proxy.url, 'insecure-skip-tls-verify': true } },
      ],
      users: [{ name: 'proxy', user }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy' } }],
      'current-context': 'proxy',
    }),
  )
  return Object.assign(proxy, { kubeconfig })
}

/** Neither a look nor the lease, with which a leader writes all the time. */
export function isWrite({ method, path }: Passing): boolean {
  return method !== 'GET' && !path.includes('/leases')
}
