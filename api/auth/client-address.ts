import type { FastifyInstance, FastifyRequest } from 'fastify'

import { compileCidrs, networkOf } from '../../core/egress/address.ts'
import { clientAddress } from '../../core/http/client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client, behind proxies that are trusted. Empty where the connection has closed. */
    readonly clientAddress: string
  }
}

/** Gives requests their `clientAddress`. The `ip` of Fastify is whatever a trusted proxy wrote. */
export function readClients(app: FastifyInstance, trustedProxies: readonly string[]): void {
  const trusted = compileCidrs(trustedProxies)
  app.decorateRequest('clientAddress', {
    getter() {
      return clientAddress(this.raw, trusted)
    },
  })
}

/** The network of a client, which shares what a stranger gets: an IPv4 address, or the /64 of an IPv6 one. */
export function callerNetwork(request: Pick<FastifyRequest, 'clientAddress'>): string {
  return networkOf(request.clientAddress)
}

/** The network around that of an address, as one customer of a provider may have it: an IPv4 /24 or an IPv6 /48. */
export function wideNetworkOf(address: string): string {
  return networkOf(address, { ipv4Bits: 24, ipv6Bits: 48 })
}
