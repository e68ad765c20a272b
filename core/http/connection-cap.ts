import type { Server } from 'node:net'

import { Counter, type Registry } from 'prom-client'

import { isWithin, type CompiledCidrs } from '../egress/address.ts'
import type { Logger } from '../log.ts'
import { closeGently } from './gentle-close.ts'

interface Cap {
  /** Connections of one address. */
  max: number
  /** Proxies, through which many clients come. */
  trusted: CompiledCidrs
  /** The answer to a client that has too many. */
  refusal: string
  registry: Registry
  log: Logger
}

/** An address that is refused is refused often. */
const LINE_MS = 10_000

/** Lets no address have more connections than `max`, so that one client cannot take every descriptor. */
export function capConnections(server: Server, { max, trusted, refusal, ...watch }: Cap): void {
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
    const count = add(address, 1)
    socket.once('close', () => add(address, -1))
    if (count <= max) return
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
