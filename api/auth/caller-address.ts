import { isIP } from 'node:net'

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
