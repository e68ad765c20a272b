import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'

import { compileCidrs, isWithin } from '../../core/egress/address.ts'
import { ConnectAgent, isSecure, portOf } from './connect-agent.ts'

interface Options {
  /** A CONNECT proxy; undefined dials directly. */
  proxy: string | undefined
  /** Hosts that are dialled without the proxy, as NO_PROXY lists them. */
  noProxy: string
  secureContext: SecureContext | undefined
}

/** How relay and gateway are reached: the agent to make a request to this URL with. */
export type Reach = (url: URL) => HttpAgent

/** Destinations are never reached this way: a proxy would resolve their names, and the addresses would be unchecked. */
export function openReach({ proxy, noProxy, secureContext }: Options): Reach {
  const plain = new HttpAgent({ keepAlive: true })
  const secure = new HttpsAgent({ keepAlive: true, ...(secureContext && { secureContext }) })
  if (proxy === undefined) return (url) => (isSecure(url) ? secure : plain)
  const proxied = new ConnectAgent(new URL(proxy), secureContext)
  return (url) => {
    if (!isExempt(url, noProxy)) return proxied.for(url)
    return isSecure(url) ? secure : plain
  }
}

/** NO_PROXY: names, domains with all below them, addresses, each with or without a port, ranges of addresses, or `*`. */
export function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = portOf(url)
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .some((item) => {
      if (item === '*') return true
      if (item.includes('/')) return isInRange(host, item)
      const [, bare = item, itsPort] =
        /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(isIP(item) === 6 ? `[${item}]` : item) ?? []
      if (itsPort !== undefined && Number(itsPort) !== port) return false
      const domain = bare.replace(/^\*?\./, '')
      return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`))
    })
}

/** Other programs read the variable as well: an entry that is no range exempts nothing. */
function isInRange(host: string, range: string): boolean {
  try {
    return isWithin(host, compileCidrs([range]))
  } catch {
    return false
  }
}
