import { isIP, isIPv6 } from 'node:net'

import type { FastifyRequest } from 'fastify'

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

/** The owner of an IPv6 address has the 2^64 beside it. */
export function networkOf(address: string): string {
  const [, ipv4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (ipv4 !== undefined || !isIPv6(address)) return ipv4 ?? address
  const [plain = ''] = address.split('%')
  const [head = '', tail] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array.from({ length: gap }, () => '0'), ...right].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** The network around that of an address, as one customer of a provider may have it: an IPv4 /24 or an IPv6 /48. */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address)
  if (network.endsWith('::/64')) return `${network.split(':').slice(0, 3).join(':')}::/48`
  return network.replace(/\.\d+$/, '.0/24')
}
