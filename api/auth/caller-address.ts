import { isIP } from 'node:net'

import type { FastifyRequest } from 'fastify'

import { networkOf } from '../../core/egress/address.ts'
import { plainAddress } from '../../core/http/client-address.ts'

/**
 * Where a request comes from. Fastify believes `X-Forwarded-For` of trusted proxies alone, but takes whatever they wrote:
 * behind something else than an address the proxy is the last known one.
 */
export function callerAddress({ ip, ips }: Pick<FastifyRequest, 'ip' | 'ips'>): string {
  // A connection that its peer gave up before it was accepted has none.
  const address: string | undefined = ips?.findLast((one) => isIP(one) !== 0) ?? ip
  // A zone means something on this machine alone.
  return plainAddress((address ?? '').replace(/%.*$/, ''))
}

/** The network that a request comes from, which shares what a stranger gets: an IPv4 address, or the /64 of an IPv6 one. */
export function callerNetwork(request: Pick<FastifyRequest, 'ip' | 'ips'>): string {
  return networkOf(callerAddress(request))
}

/** The network around that of an address, as one customer of a provider may have it: an IPv4 /24 or an IPv6 /48. */
export function wideNetworkOf(address: string): string {
  return networkOf(address, { ipv4Bits: 24, ipv6Bits: 48 })
}
