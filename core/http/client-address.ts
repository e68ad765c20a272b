import type { IncomingMessage } from 'node:http'

import { isWithin, shortAddress, type CompiledCidrs } from '../egress/address.ts'

/** Addresses of `X-Forwarded-For` that are read: no row of proxies is longer. */
const HOPS_MAX = 20

/**
 * The address of the client of a request, in its shortest form: the last address of `X-Forwarded-For` that is not a trusted
 * proxy. Where a trusted proxy wrote no address, it is that of the proxy. Empty for a socket that has closed.
 */
export function clientAddress(
  {
    socket,
    headers,
  }: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } },
  trusted: CompiledCidrs,
): string {
  let address = shortAddress(socket.remoteAddress ?? '') ?? ''
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const hops = String(forwarded).split(',').slice(-HOPS_MAX)
  while (isWithin(address, trusted)) {
    const next = forwardedAddress(hops.pop() ?? '')
    if (next === undefined) return address
    address = next
  }
  return address
}

/** Some proxies write the port of the client too, as Azure's Application Gateway does, and brackets around IPv6. */
function forwardedAddress(text: string): string | undefined {
  const hop = text.trim()
  const [, bracketed, withPort] = /^(?:\[(.+)\](?::\d+)?|([^:]+):\d+)$/.exec(hop) ?? []
  return shortAddress(bracketed ?? withPort ?? hop)
}
