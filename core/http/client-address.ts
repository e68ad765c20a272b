import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

import { isWithin, type CompiledCidrs } from '../egress/address.ts'

/** Addresses of X-Forwarded-For that are looked at: more proxies than that stand in no row. */
const HOPS_MAX = 20

/**
 * Where a request comes from: the last address that is not one of the trusted proxies, each of which adds to
 * `X-Forwarded-For` whom it speaks for.
 */
export function clientAddress(
  {
    socket,
    headers,
  }: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } },
  trusted: CompiledCidrs,
): string {
  let address = plainAddress(socket.remoteAddress ?? '')
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .slice(-HOPS_MAX)
  for (let said = forwarded.pop(); said !== undefined; said = forwarded.pop()) {
    if (!isWithin(address, trusted)) return address
    const next = plainAddress(said.trim())
    // If a trusted proxy wrote something else than an address, the proxy is the last known one.
    if (isIP(next) === 0) return address
    address = next
  }
  return address
}

/** An IPv4 address that came over an IPv6 socket is the same address. */
export function plainAddress(address: string): string {
  const [, ipv4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  return ipv4 ?? address
}
