import type { Server } from 'node:net'

import { Counter, type Registry } from 'prom-client'

import { isWithin, networkOf, type CompiledCidrs } from '../egress/address.ts'
import type { Logger } from '../log.ts'
import { closeGently } from './gentle-close.ts'

interface Cap {
  /** Connections of one address; addresses of an IPv6 /64 are one. */
  max: number
  /** Connections of one network, which is a /24 of IPv4 or a /48 of IPv6. Undefined: any number. */
  networkMax?: number
  /** Proxies, through which many clients come. */
  trusted: CompiledCidrs
  /** The answer to a client that has too many. */
  refusal: string
  registry: Registry
  log: Logger
}

/** An address that is refused is refused often. */
const LINE_MS = 10_000

const NETWORK = { ipv4Bits: 24, ipv6Bits: 48 }

/**
 * Lets no address have more connections than `max` and no network more than `networkMax`, so that one client cannot take
 * every descriptor.
 */
export function capConnections(server: Server, cap: Cap): void {
  const { max, networkMax = Number.POSITIVE_INFINITY, trusted, refusal, ...watch } = cap
  const counts = new Map<string, number>()
  const add = (address: string, change: number): number => {
    const count = (counts.get(address) ?? 0) + change
    if (count === 0) counts.delete(address)
    else counts.set(address, count)
    return count
  }
  const noteRefused = watchRefusals(watch, max)
  server.on('connection', (socket) => {
    const address = socket.remoteAddress
    if (address === undefined || isWithin(address, trusted)) return
    const own = networkOf(address)
    const network = networkOf(address, NETWORK)
    const isMany = [add(own, 1) > max, add(network, 1) > networkMax].includes(true)
    socket.once('close', () => {
      add(own, -1)
      add(network, -1)
    })
    if (!isMany) return
    noteRefused(address)
    // The descriptor is wanted back at once.
    socket.once('finish', () => socket.destroy())
    closeGently(socket, refusal)
  })
}

const NAME = 'postern_refused_connections_total'

/** Counts each, and says so at once and then every ten seconds at most. */
function watchRefusals(
  { registry, log }: Pick<Cap, 'registry' | 'log'>,
  max: number,
): (address: string) => void {
  // Listeners of one process count together.
  const known = registry.getSingleMetric(NAME)
  const help = 'Connections of addresses that had as many as they may'
  const counter =
    known instanceof Counter ? known : new Counter({ name: NAME, help, registers: [registry] })
  let untold = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return (address) => {
    counter.inc()
    untold++
    if (performance.now() - toldAt < LINE_MS) return
    toldAt = performance.now()
    log.warn({ address, max, refused: untold }, 'Refused connections of an address')
    untold = 0
  }
}
